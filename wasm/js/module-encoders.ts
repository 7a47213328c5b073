import type { EncoderGlue } from "./encoders.js";
import { Engine, hasRelaxedSimd } from "./engine.js";
import glue from "./generated/folders.js";

/** Encoders of all families; with relaxed SIMD where that is there. */
// Bundlers find the modules by the form of these lines: the addresses must stand there as they are.
export const encoders: Engine<EncoderGlue> = /* @__PURE__ */ new Engine<EncoderGlue>(glue, () =>
  hasRelaxedSimd()
    ? new URL("./nanoembed-encoders-relaxed.wasm", import.meta.url)
    : new URL("./nanoembed-encoders.wasm", import.meta.url),
);
