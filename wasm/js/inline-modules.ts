// The modules inside the JavaScript.
import type { CausalGlue } from "./causal.js";
import type { EncoderFileGlue, EncoderGlue } from "./encoders.js";
import { Engine, type AnyGlue, type InspectGlue } from "./engine.js";
import type { ValuesGlue } from "./inspection.js";
import causalGlue from "./generated/causal.js";
import encodersGlue from "./generated/encoders.js";
import foldersGlue from "./generated/folders.js";
import inspectGlue from "./generated/inspect.js";
import sentencesGlue from "./generated/sentences.js";
import slimGlue from "./generated/slim.js";
import valuesGlue from "./generated/values.js";
import type { Modules } from "./modules.js";
import type { SentenceGlue } from "./sentences.js";
import type { WordGlue } from "./words.js";
import causalModule from "../dist/nanoembed-causal.wasm";
import encodersModule from "../dist/nanoembed-encoders.wasm";
import ggufModule from "../dist/nanoembed-gguf.wasm";
import inspectModule from "../dist/nanoembed-inspect.wasm";
import sentencesModule from "../dist/nanoembed.wasm";
import staticModule from "../dist/nanoembed-static.wasm";
import slimModule from "../dist/nanoembed-slim.wasm";
import valuesModule from "../dist/nanoembed-values.wasm";

const engine = <G extends AnyGlue>(glue: () => unknown, module: Uint8Array) => new Engine<G>(glue, () => module as BufferSource);

const encoders = /* @__PURE__ */ engine<EncoderGlue>(foldersGlue, encodersModule);
const inspector = /* @__PURE__ */ engine<InspectGlue>(inspectGlue, inspectModule);

export const modules: Modules = {
  sentences: /* @__PURE__ */ engine<SentenceGlue>(sentencesGlue, sentencesModule),
  static: /* @__PURE__ */ engine<SentenceGlue>(sentencesGlue, staticModule),
  words: /* @__PURE__ */ engine<WordGlue>(slimGlue, slimModule),
  causal: /* @__PURE__ */ engine<CausalGlue>(causalGlue, causalModule),
  encoders,
  // The module for folders runs these files, too, and is there anyway.
  weights: encoders,
  gguf: /* @__PURE__ */ engine<EncoderFileGlue>(encodersGlue, ggufModule),
  inspector: () => inspector.ready(),
  values: /* @__PURE__ */ engine<ValuesGlue>(valuesGlue, valuesModule),
};
