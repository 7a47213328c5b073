/**
 * Headers, indices and checks of model files, without models: a third of the size.
 *
 * @module
 */
import type { InitOptions } from "./engine.js";
import type { InspectOptions, Inspection, Verdict, VerifyOptions } from "./inspection.js";
import * as looking from "./looking.js";
import { inspector } from "./module-inspect.js";
import type { Source } from "./source.js";

export { NanoembedError } from "./errors.js";
export type { InitOptions, ModuleSource } from "./engine.js";
export type { FetchOptions, Phase, Progress, Source } from "./source.js";
export type {
  FileSummary, InspectOptions, Inspection, MetadataValue, TensorInfo, Verdict, VerifyOptions,
} from "./inspection.js";

/** Loads the module now, or from elsewhere than the package's own file. Otherwise the first call does. */
export const init = async (options?: InitOptions): Promise<void> => void (await inspector.ready(options));

/** Reads header and index of a file in any format that is known here, and nothing else. */
export const inspect = (source: Source, options?: InspectOptions): Promise<Inspection> =>
  looking.inspect(source, options);

/** Looks at every byte of a file: structure, bounds, checksums. */
export const verify = (source: Source, options?: VerifyOptions): Promise<Verdict> =>
  looking.verify(source, options);
