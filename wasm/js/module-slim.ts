import type { WordGlue } from "./words.js";
import { Engine } from "./engine.js";
import glue from "./generated/slim.js";

/** Word vectors only. */
export const slim: Engine<WordGlue> = /* @__PURE__ */ new Engine<WordGlue>(glue, () => new URL("./nanoembed-slim.wasm", import.meta.url));
