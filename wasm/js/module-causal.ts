import type { CausalGlue } from "./causal.js";
import { Engine, hasRelaxedSimd } from "./engine.js";
import glue from "./generated/causal.js";

/** Models that continue texts; with relaxed SIMD where that is there. */
// Bundlers find the modules by the form of these lines: the addresses must stand there as they are.
export const causal: Engine<CausalGlue> = /* @__PURE__ */ new Engine<CausalGlue>(glue, () =>
  hasRelaxedSimd()
    ? new URL("./nanoembed-causal-relaxed.wasm", import.meta.url)
    : new URL("./nanoembed-causal.wasm", import.meta.url),
);
