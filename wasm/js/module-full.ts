import { Engine, hasRelaxedSimd } from "./engine.js";
import glue from "./generated/full.js";
import type { FullGlue } from "./model-sink.js";

/** Sentence models and word vectors; with relaxed SIMD where that is there. */
// Bundlers find the modules by the form of these lines: the addresses must stand there as they are.
export const full: Engine<FullGlue> = /* @__PURE__ */ new Engine<FullGlue>(glue, () =>
  hasRelaxedSimd()
    ? new URL("./nanoembed-relaxed.wasm", import.meta.url)
    : new URL("./nanoembed.wasm", import.meta.url),
);
