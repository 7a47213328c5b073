// The project's own test files.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const data = join(root, "tests/data");
export const model = join(root, "models/all-MiniLM-L6-v2.int8.weights");

/** The published model's folder, where the environment names it: tests that need it are skipped without. */
export const published = process.env["NANOEMBED_MODEL_DIR"];

export const bytes = (...path: string[]): Uint8Array<ArrayBuffer> => new Uint8Array(readFileSync(join(data, ...path)));
export const json = <T>(...path: string[]): T => JSON.parse(readFileSync(join(data, ...path), "utf8")) as T;
export const floats = (...path: string[]): Float32Array => new Float32Array(bytes(...path).buffer);
export const modelBytes = (): Uint8Array<ArrayBuffer> => new Uint8Array(readFileSync(model));
export { existsSync };

export interface Sentence {
  text: string;
  ids: number[];
  row: number;
}
export const sentences = (): Sentence[] => json<Sentence[]>("minilm", "sentences.json");

export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let largest = a.length === b.length ? 0 : Infinity;
  for (let i = 0; i < a.length; i += 1) largest = Math.max(largest, Math.abs(a[i]! - b[i]!));
  return largest;
}
