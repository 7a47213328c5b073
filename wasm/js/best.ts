// What adapters that rerank have in common.
import type { Ranked, Reranker } from "./encoders.js";
import { check, checkNames } from "./errors.js";

/** What adapters export as `NanoembedRerankerParams`. */
export interface RerankerSettings {
  /** A reranker, or one that is still being loaded. */
  model: Reranker | Promise<Reranker>;
  /** How many are kept. Default: all of them. */
  topN?: number;
}

/** Ranks texts as the settings say, the best first. */
export function bestOf(settings: RerankerSettings): (query: string, texts: string[]) => Promise<Ranked[]> {
  checkNames<keyof RerankerSettings>(settings, { model: true, topN: true });
  const { model, topN } = settings;
  check(topN === undefined || (Number.isInteger(topN) && topN > 0), "topN must be 1 or more");
  return async (query, texts) => (await (await model).rerank(query, texts)).slice(0, topN);
}
