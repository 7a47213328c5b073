import { Engine, type InitOptions, type InspectGlue } from "./engine.js";
import type { Family } from "./formats.js";
import glue from "./generated/inspect.js";

// Bundlers find the modules by the form of these lines: the addresses must stand there as they are.
const families: Record<Family, Engine<InspectGlue>> = {
  amb: /* @__PURE__ */ new Engine<InspectGlue>(glue, () => new URL("./nanoembed-inspect-amb.wasm", import.meta.url)),
  embd: /* @__PURE__ */ new Engine<InspectGlue>(glue, () => new URL("./nanoembed-inspect-embd.wasm", import.meta.url)),
  finalfusion: /* @__PURE__ */ new Engine<InspectGlue>(glue, () => new URL("./nanoembed-inspect-finalfusion.wasm", import.meta.url)),
  gguf: /* @__PURE__ */ new Engine<InspectGlue>(glue, () => new URL("./nanoembed-inspect-gguf.wasm", import.meta.url)),
  safetensors: /* @__PURE__ */ new Engine<InspectGlue>(glue, () => new URL("./nanoembed-inspect-safetensors.wasm", import.meta.url)),
};

/** A module for all formats, which only those load who say where it is. */
let whole: Engine<InspectGlue> | undefined;

/** The module that reads headers and indices of a family, and checks its files; ready. */
export const inspector = (family: Family): Promise<Engine<InspectGlue>> => (whole ?? families[family]).ready();

/** Loads a module now: that of a family, or from another place one for all. */
export async function initInspector(family: Family | undefined, options: Partial<InitOptions>): Promise<void> {
  const { module_or_path } = options;
  const given = module_or_path === undefined ? undefined : { module_or_path };
  if (family) await families[family].ready(given);
  else if (given) await (whole ??= new Engine<InspectGlue>(glue, () => "")).ready(given);
}
