import type { ValuesGlue } from "./inspection.js";
import { Engine } from "./engine.js";
import * as glue from "./generated/values.js";

/** Dequantising only. */
export const values: Engine<ValuesGlue> = /* @__PURE__ */ new Engine(glue as unknown as ValuesGlue, () => new URL("./nanoembed-values.wasm", import.meta.url));
