/**
 * Headers, indices and checks of model files, without models: a module of some 20 KB for each format.
 *
 * @module
 */
import type { ModuleSource } from "./engine.js";
import { checkNames } from "./errors.js";
import type { Family } from "./formats.js";
import type { InspectOptions, Inspection, Verdict, VerifyOptions } from "./inspection.js";
import * as looking from "./looking.js";
import { initInspector } from "./module-inspect.js";
import type { Source } from "./source.js";

export { NanoembedError } from "./errors.js";
export type { ModuleSource } from "./engine.js";
export type { Family } from "./formats.js";
export type { FetchOptions, Phase, Progress, Source } from "./source.js";
export type {
  FileSummary, InspectOptions, Inspection, MetadataValue, TensorInfo, Verdict, VerifyOptions,
} from "./inspection.js";

export interface InitOptions {
  /** Whose module is loaded: UQFF files are `safetensors`. */
  format?: Family;
  /**
   * The module's address, a response, its bytes, or itself compiled: where the package's own file cannot be used. Without a
   * `format` it is one that knows all of them, `nanoembed/nanoembed-inspect.wasm`.
   */
  module_or_path?: ModuleSource | Promise<ModuleSource>;
}

/** Loads a module now. Otherwise the first call does, when the file has told its format. */
export async function init(options: InitOptions = {}): Promise<void> {
  checkNames<keyof InitOptions>(options, { format: true, module_or_path: true });
  await initInspector(options.format, options);
}

/** Reads header and index of a file in any format that is known here, and nothing else. */
export const inspect = (source: Source, options?: InspectOptions): Promise<Inspection> =>
  looking.inspect(source, options);

/** Looks at every byte of a file: structure, bounds, checksums. */
export const verify = (source: Source, options?: VerifyOptions): Promise<Verdict> =>
  looking.verify(source, options);
