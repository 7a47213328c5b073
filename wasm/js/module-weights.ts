import type { EncoderFileGlue } from "./encoders.js";
import { Engine, hasRelaxedSimd } from "./engine.js";
import glue from "./generated/encoders.js";

/** Encoders of all families in `.weights` and AMB files; with relaxed SIMD where that is there. */
// Bundlers find the modules by the form of these lines: the addresses must stand there as they are.
export const weights: Engine<EncoderFileGlue> = /* @__PURE__ */ new Engine<EncoderFileGlue>(glue, () =>
  hasRelaxedSimd()
    ? new URL("./nanoembed-weights-relaxed.wasm", import.meta.url)
    : new URL("./nanoembed-weights.wasm", import.meta.url),
);
