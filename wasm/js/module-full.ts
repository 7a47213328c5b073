import type { FullGlue } from "./api.js";
import { Engine, hasRelaxedSimd } from "./engine.js";
import * as glue from "./generated/full.js";

/** Models; with relaxed SIMD where that is there. */
// Bundlers find the modules by the form of these lines: the addresses must stand there as they are.
export const full: Engine<FullGlue> = /* @__PURE__ */ new Engine(glue as unknown as FullGlue, () =>
  hasRelaxedSimd()
    ? new URL("./nanoembed-relaxed.wasm", import.meta.url)
    : new URL("./nanoembed.wasm", import.meta.url),
);
