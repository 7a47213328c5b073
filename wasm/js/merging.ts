// Segments that are merged, so that there are few.
import type { Segment, StoredDocument } from "./segment.js";
import type { Work } from "./slices.js";

/** So many documents are dealt with together. */
const PART_DOCUMENTS = 1024;

/** One segment that says what several say, one after the other. `isFirst`: nothing comes before them. */
export function* merging(segments: readonly Segment[], isFirst: boolean): Work<Segment> {
  const removed = new Set<string>();
  const kept = new Map<string, { document: StoredDocument; from: Segment; row: number }>();
  let seen = 0;
  for (const from of segments) {
    for (const id of from.removed) {
      kept.delete(id);
      removed.add(id);
    }
    let row = 0;
    for (const document of from.documents) {
      kept.set(document.id, { document, from, row });
      row += document.passages.length;
      if ((seen += 1) % PART_DOCUMENTS === 0) yield;
    }
  }
  const { model } = segments.at(-1)!;
  const documents = [...kept.values()].map(({ document }) => document);
  const count = documents.reduce((sum, { passages }) => sum + passages.length, 0);
  const scales = new Float32Array(count);
  const codes = new Int8Array(count * model.dims);
  let to = 0;
  for (const { document, from, row } of kept.values()) {
    const end = row + document.passages.length;
    scales.set(from.scales.subarray(row, end), to);
    codes.set(from.codes.subarray(row * model.dims, end * model.dims), to * model.dims);
    to += document.passages.length;
    if ((seen += 1) % PART_DOCUMENTS === 0) yield;
  }
  return { model, removed: isFirst ? [] : [...removed], documents, scales, codes };
}
