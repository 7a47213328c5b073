/**
 * Headers, indices and checks of model files, without models.
 *
 * @module
 */
import type { ModuleSource } from "./engine.js";
import { checkNames } from "./errors.js";
import type { InspectOptions, Inspection, Verdict, VerifyOptions } from "./inspection.js";
import * as inspecting from "./inspect-entry.js";
import { initInspector } from "./module-inspect.js";
import type { Source } from "./source.js";

export { NanoembedError } from "./errors.js";
export type { ModuleSource } from "./engine.js";
export type { Address, FetchOptions, Phase, Progress, Source } from "./source.js";
export type {
  FileSummary, InspectOptions, Inspection, MetadataValue, TensorInfo, Verdict, VerifyOptions,
} from "./inspection.js";

export interface InitOptions {
  /** The module's address, a response, its bytes, or itself compiled: where the package's own file cannot be used. */
  module_or_path?: ModuleSource | Promise<ModuleSource>;
}

/** Loads the module now. Otherwise the first call does. */
export async function init(options: InitOptions = {}): Promise<void> {
  checkNames<keyof InitOptions>(options, { module_or_path: true });
  await initInspector(options);
}

/** Reads header and index of a file in any format that is known here, and nothing else. */
export const inspect = (source: Source, options?: InspectOptions): Promise<Inspection> =>
  inspecting.inspect(source, options);

/** Looks at every byte of a file: structure, bounds, checksums. */
export const verify = (source: Source, options?: VerifyOptions): Promise<Verdict> =>
  inspecting.verify(source, options);
