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

/** A finalfusion file of that many words `word0`, `word1`, … with vectors without a pattern, and `buckets` rows for n-grams. */
export function wordVectors(words: number, dims: number, buckets = 0): Blob {
  const u32 = (...values: number[]) => new Uint8Array(Uint32Array.from(values).buffer);
  const u64 = (value: number) => u32(value % 2 ** 32, Math.floor(value / 2 ** 32));
  const spelled = Array.from({ length: words }, (_, at) => new TextEncoder().encode(`word${at}`));
  const vocabulary = [u64(words), ...(buckets > 0 ? [u32(3, 6, buckets)] : []), ...spelled.flatMap((word) => [u32(word.length), word])];
  const kind = buckets > 0 ? 7 : 1;
  const length = (pieces: Uint8Array[]) => pieces.reduce((sum, piece) => sum + piece.length, 0);
  const head = [u32(0x75466946, 0, 2, kind, 2, kind), u64(length(vocabulary)), ...vocabulary];
  const rows = words + buckets;
  // Numbers lie at multiples of four.
  const padding = new Uint8Array(4 - ((length(head) + 28) % 4));
  const storage = [u32(2), u64(16 + padding.length + rows * dims * 4), u64(rows), u32(dims, 10), padding];
  let state = 1;
  const noise = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32 - 0.5;
  const values = Float32Array.from({ length: rows * dims }, noise);
  return new Blob([...head, ...storage, values]);
}
