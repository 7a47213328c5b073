import type { Embeddings } from "./sentences.js";

/** Vectors as arrays of numbers, which other libraries take. */
export const rows = ({ data, dims }: Embeddings): number[][] =>
  Array.from({ length: data.length / dims }, (_, at) => Array.from(data.subarray(at * dims, (at + 1) * dims)));
