import { Engine, type InspectGlue } from "./engine.js";
import * as glue from "./generated/inspect.js";

/** Headers, indices and checks only. */
export const inspector: Engine<InspectGlue> = /* @__PURE__ */ new Engine(glue as unknown as InspectGlue, () => new URL("./nanoembed-inspect.wasm", import.meta.url));
