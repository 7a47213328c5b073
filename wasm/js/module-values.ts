import type { ValuesGlue } from "./inspection.js";
import { Engine } from "./engine.js";
import glue from "./generated/values.js";

/** Dequantising only. */
export const values: Engine<ValuesGlue> = /* @__PURE__ */ new Engine<ValuesGlue>(glue, () => new URL("./nanoembed-values.wasm", import.meta.url));
