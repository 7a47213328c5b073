import { Engine, type InitOptions, type InspectGlue } from "./engine.js";
import glue from "./generated/inspect.js";

// Bundlers find the module by the form of this line: the address must stand there as it is.
const engine = /* @__PURE__ */ new Engine<InspectGlue>(glue, () => new URL("./nanoembed-inspect.wasm", import.meta.url));

/** The module that reads headers and indices, and checks files; ready. */
export const inspector = (): Promise<Engine<InspectGlue>> => engine.ready();

/** Loads the module now. */
export async function initInspector({ module_or_path }: Partial<InitOptions>): Promise<void> {
  await engine.ready(module_or_path === undefined ? undefined : { module_or_path });
}
