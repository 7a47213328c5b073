// What only looks at files, over the package's own modules: shared by the entries that offer it.
import { inspectWith, verifyWith, type InspectOptions, type Inspection, type Verdict, type VerifyOptions } from "./inspection.js";
import { inspector, inspectorBytes } from "./module-inspect.js";
import { values } from "./module-values.js";
import type { Source } from "./source.js";

export const inspect = (source: Source, options?: InspectOptions): Promise<Inspection> =>
  inspectWith(inspector, values, source, options);

export const verify = (source: Source, options?: VerifyOptions): Promise<Verdict> => verifyWith(inspector, source, options);

export const memoryBytes = (): number => inspectorBytes() + values.memoryBytes;
