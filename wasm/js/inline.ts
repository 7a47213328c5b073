/**
 * The same as the package's main entry, with the modules inside the JavaScript: nothing is fetched. Larger by a third,
 * and without relaxed SIMD.
 *
 * @module
 */
import { api, type Api } from "./api.js";
import { loadCausal, type CausalGlue } from "./causal.js";
import { loadEncoder, type EncoderGlue } from "./encoders.js";
import { Engine, type InspectGlue } from "./engine.js";
import { loadFolder } from "./folder.js";
import { inspectWith, verifyWith, type ValuesGlue } from "./inspection.js";
import causalGlue from "./generated/causal.js";
import encodersGlue from "./generated/encoders.js";
import inspectGlue from "./generated/inspect.js";
import sentencesGlue from "./generated/sentences.js";
import slimGlue from "./generated/slim.js";
import valuesGlue from "./generated/values.js";
import type { SentenceGlue } from "./sentences.js";
import { loadWords, openWith, type WordGlue } from "./words.js";
import causalModule from "../dist/nanoembed-causal.wasm";
import encodersModule from "../dist/nanoembed-encoders.wasm";
import inspectModule from "../dist/nanoembed-inspect.wasm";
import sentencesModule from "../dist/nanoembed.wasm";
import staticModule from "../dist/nanoembed-static.wasm";
import slimModule from "../dist/nanoembed-slim.wasm";
import valuesModule from "../dist/nanoembed-values.wasm";

export * from "./exports.js";

const causal = /* @__PURE__ */ new Engine<CausalGlue>(causalGlue, () => causalModule as BufferSource);
const encoders = /* @__PURE__ */ new Engine<EncoderGlue>(encodersGlue, () => encodersModule as BufferSource);
const slim = /* @__PURE__ */ new Engine<WordGlue>(slimGlue, () => slimModule as BufferSource);
const inspector = /* @__PURE__ */ new Engine<InspectGlue>(inspectGlue, () => inspectModule as BufferSource);
const values = /* @__PURE__ */ new Engine<ValuesGlue>(valuesGlue, () => valuesModule as BufferSource);

const all: Api = /* @__PURE__ */ api(
  {
    sentences: new Engine<SentenceGlue>(sentencesGlue, () => sentencesModule as BufferSource),
    static: new Engine<SentenceGlue>(sentencesGlue, () => staticModule as BufferSource),
    words: async () => ({ engine: slim, loadWords, openWith }),
    causal: async () => ({ engine: causal, loadCausal }),
    encoders: async () => ({ engine: encoders, loadEncoder, loadFolder }),
  },
  async () => ({
    inspect: (source, options) => inspectWith(() => inspector.ready(), () => values.ready(), source, options),
    verify: (source, options) => verifyWith(() => inspector.ready(), source, options),
  }),
);

export const init: Api["init"] = all.init;
export const load: Api["load"] = all.load;
export const open: Api["open"] = all.open;
export const inspect: Api["inspect"] = all.inspect;
export const verify: Api["verify"] = all.verify;
export const memoryBytes: Api["memoryBytes"] = all.memoryBytes;
