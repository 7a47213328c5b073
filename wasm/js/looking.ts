// What only looks at files, over the package's own modules: shared by the entries that offer it.
import { inspectWith, verifyWith, type InspectOptions, type Inspection, type Verdict, type VerifyOptions } from "./inspection.js";
import { inspector, inspectorBytes } from "./module-inspect.js";
import type { Source } from "./source.js";

let valuesBytes = () => 0;

/** Dequantising is loaded, code and module, when numbers are asked for. */
async function numbers() {
  const { values } = await import("./module-values.js");
  valuesBytes = () => values.memoryBytes;
  return values.ready();
}

export const inspect = (source: Source, options?: InspectOptions): Promise<Inspection> =>
  inspectWith(inspector, numbers, source, options);

export const verify = (source: Source, options?: VerifyOptions): Promise<Verdict> => verifyWith(inspector, source, options);

export const memoryBytes = (): number => inspectorBytes() + valuesBytes();
