import { Engine, type Glue } from "./engine.js";
import * as glue from "./generated/inspect.js";

/** Headers, indices and checks only. */
export const inspector: Engine<Glue> = /* @__PURE__ */ new Engine(glue as unknown as Glue, () => new URL("./nanoembed-inspect.wasm", import.meta.url));
