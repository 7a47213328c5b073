import type { PairScore, Ranked } from "./encoders.js";
import { check } from "./errors.js";

/** Texts by their logits, the best first; among equals the first. */
export function ranked(scores: readonly PairScore[], labels: readonly string[]): Ranked[] {
  check(labels.length === 1, `the model has ${labels.length} labels and ranks nothing: use score()`);
  const all = scores.map(({ logits, scores }, index) => ({ index, score: scores[0]!, logit: logits[0]! }));
  return all.sort((a, b) => b.logit - a.logit);
}
