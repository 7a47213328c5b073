// What only looks at files, over the package's own modules: shared by the entries that offer it.
import { inspectWith, verifyWith, type InspectOptions, type Inspection, type Verdict, type VerifyOptions } from "./inspection.js";
import { inspector } from "./module-inspect.js";
import type { Source } from "./source.js";

/** Dequantising is loaded, code and module, when numbers are asked for. */
async function numbers() {
  return (await import("./module-values.js")).values.ready();
}

export const inspect = (source: Source, options?: InspectOptions): Promise<Inspection> =>
  inspectWith(inspector, numbers, source, options);

export const verify = (source: Source, options?: VerifyOptions): Promise<Verdict> => verifyWith(inspector, source, options);
