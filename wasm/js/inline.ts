/**
 * The same as the package's main entry, with the modules inside the JavaScript: nothing is fetched. Larger by a third,
 * and without relaxed SIMD.
 *
 * @module
 */
import { api, type Api } from "./api.js";
import { loadCausal, type CausalGlue } from "./causal.js";
import { Engine, type InspectGlue } from "./engine.js";
import { inspectWith, verifyWith, type ValuesGlue } from "./inspection.js";
import causalGlue from "./generated/causal.js";
import fullGlue from "./generated/full.js";
import inspectGlue from "./generated/inspect.js";
import valuesGlue from "./generated/values.js";
import type { FullGlue } from "./model-sink.js";
import { loadWords, openWith } from "./words.js";
import causalModule from "../dist/nanoembed-causal.wasm";
import fullModule from "../dist/nanoembed.wasm";
import inspectModule from "../dist/nanoembed-inspect.wasm";
import valuesModule from "../dist/nanoembed-values.wasm";

export * from "./exports.js";

const causal = /* @__PURE__ */ new Engine<CausalGlue>(causalGlue, () => causalModule as BufferSource);
const inspector = /* @__PURE__ */ new Engine<InspectGlue>(inspectGlue, () => inspectModule as BufferSource);
const values = /* @__PURE__ */ new Engine<ValuesGlue>(valuesGlue, () => valuesModule as BufferSource);

const all: Api = /* @__PURE__ */ api(
  {
    full: new Engine<FullGlue>(fullGlue, () => fullModule as BufferSource),
    words: async () => ({ loadWords, openWith }),
    causal: async () => ({ engine: causal, loadCausal }),
  },
  async () => ({
    inspect: (source, options) => inspectWith(() => inspector.ready(), values, source, options),
    verify: (source, options) => verifyWith(() => inspector.ready(), source, options),
    memoryBytes: () => inspector.memoryBytes + values.memoryBytes,
  }),
);

export const init: Api["init"] = (options) => all.init(options);
export const load: Api["load"] = ((source, options) => all.load(source, options)) as Api["load"];
export const open: Api["open"] = (source, options) => all.open(source, options);
export const inspect: Api["inspect"] = (source, options) => all.inspect(source, options);
export const verify: Api["verify"] = (source, options) => all.verify(source, options);
export const memoryBytes: Api["memoryBytes"] = () => all.memoryBytes();
