// The JSON of a segment, some documents at a time: 100,000 of them at once keep a page busy for a quarter of a second.
import type { StoredDocument } from "./segment.js";
import type { Work } from "./slices.js";

/** So many characters of documents are read together, and so many documents written. */
const PART_LENGTH = 1 << 16;
const PART_DOCUMENTS = 64;

const BEGIN = '"documents":[';

/** An object of JSON; its documents in parts if they are its last member, as `writing` has them. Throws what is wrong with it. */
export function* reading(text: string): Work<unknown> {
  const begin = text.indexOf(BEGIN) + BEGIN.length;
  const [tail = ""] = /\]\} {0,3}$/.exec(text.slice(-5)) ?? [];
  const end = text.length - tail.length;
  const head = tryParse(`${text.slice(0, begin)}]}`) as { documents?: unknown } | undefined;
  if (!tail || begin > end || !Array.isArray(head?.documents)) return JSON.parse(text);
  const documents: unknown[] = [];
  for (let at = begin, length = PART_LENGTH; at <= end;) {
    const comma = text.indexOf(',{"id":', at + length);
    const to = comma < 0 || comma > end ? end : comma;
    // The first item stands for the comma that was before the part.
    const part = `[${at > begin ? "0," : ""}${text.slice(at, to)}]`;
    // A part that is a list ends between two documents: cut within one, it would not parse.
    const items = tryParse(part) as unknown[] | undefined;
    if (!items && to === end) return JSON.parse(text);
    if (items) {
      for (let item = Number(at > begin); item < items.length; item += 1) documents.push(items[item]);
      [at, length] = [to + 1, PART_LENGTH];
    } else {
      length *= 2;
    }
    yield;
  }
  return { ...head, documents };
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The JSON of an object with documents, in parts. */
export function* writing(head: object, documents: readonly StoredDocument[]): Work<Uint8Array[]> {
  const encoder = new TextEncoder();
  const parts = [encoder.encode(JSON.stringify({ ...head, documents: [] }).slice(0, -2))];
  for (let at = 0; at < documents.length; at += PART_DOCUMENTS) {
    const list = JSON.stringify([...documents.slice(at, at + PART_DOCUMENTS)]).slice(1, -1);
    parts.push(encoder.encode(at > 0 ? `,${list}` : list));
    yield;
  }
  parts.push(encoder.encode("]}"));
  return parts;
}
