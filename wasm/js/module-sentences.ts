import { Engine, hasRelaxedSimd } from "./engine.js";
import glue from "./generated/sentences.js";
import type { SentenceGlue } from "./sentences.js";

/** Sentence models; with relaxed SIMD where that is there. */
// Bundlers find the modules by the form of these lines: the addresses must stand there as they are.
export const sentences: Engine<SentenceGlue> = /* @__PURE__ */ new Engine<SentenceGlue>(glue, () =>
  hasRelaxedSimd()
    ? new URL("./nanoembed-relaxed.wasm", import.meta.url)
    : new URL("./nanoembed.wasm", import.meta.url),
);

/** Static models: what the module has is called as in that for sentence models. */
export const tables: Engine<SentenceGlue> = /* @__PURE__ */ new Engine<SentenceGlue>(glue, () => new URL("./nanoembed-static.wasm", import.meta.url));
