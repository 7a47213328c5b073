import type { Embeddings } from "./sentences.js";

/** Vectors as arrays of numbers, which other libraries take. */
export const rows = ({ rows }: Embeddings): number[][] => rows.map((row) => Array.from(row));
