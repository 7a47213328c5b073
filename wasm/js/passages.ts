// Long texts in passages that a model reads whole.

/** How texts are cut. */
export interface ChunkOptions {
  /** The most tokens of a passage, special tokens and prompt included. Default: what the model uses of a text. */
  tokens?: number;
  /** About how many tokens of a passage the next one repeats. Default: an eighth. */
  overlap?: number;
  /** Whether paragraphs and items of lists are passages of their own, however short. Default: false. */
  paragraphs?: boolean;
}

/** Where a passage lies in its text, in UTF-16 code units: `text.slice(start, end)`. */
export type Place = readonly [start: number, end: number];

/** Where a passage ends best, the best first: after a paragraph, a sentence, a word. */
const ENDS = [/\n\s*\n\s*/g, /[.!?…。！？]["'”’)\]]*\s+|\n\s*/g, /\s+/g];

/** As many characters as a token has at most, more or less: what is tried first. */
const LONG_TOKEN = 6;

/** What stands between paragraphs and before items of lists. */
const PARAGRAPHS = /\n\s*\n|\n(?=\s*[-*•\d])/g;

/** The places of the passages of a text: each of at most `tokens` tokens as `count` counts them, all of the text but white space at ends. */
export async function passagesOf(
  text: string, { tokens, overlap, paragraphs }: Required<ChunkOptions>, count: (part: string) => Promise<number>,
): Promise<Place[]> {
  const ends = paragraphs ? [...text.matchAll(PARAGRAPHS)].map(({ index, 0: { length } }) => index + length) : [];
  const found: Place[] = [];
  let from = 0;
  for (const to of [...ends, text.length]) {
    const part = text.slice(from, to);
    for (const [start, end] of await partsOf(part, tokens, overlap, count)) found.push([from + start, from + end]);
    from = to;
  }
  return found;
}

/** The passages of a text without regard to paragraphs. */
async function partsOf(text: string, tokens: number, overlap: number, count: (part: string) => Promise<number>): Promise<Place[]> {
  const found: Place[] = [];
  const last = text.trimEnd().length;
  let start = text.length - text.trimStart().length;
  let perToken = LONG_TOKEN;
  while (start < last) {
    const { end, used } = await longest(text, start, last, Math.ceil(tokens * perToken), tokens, count);
    found.push([start, start + text.slice(start, end).trimEnd().length]);
    if (end >= last) break;
    // Somewhat more than it was, so that the next passage is no shorter than it may be.
    perToken = (1.15 * (end - start)) / used;
    start = nextStart(text, start, end, Math.round((overlap * (end - start)) / used));
  }
  return found;
}

/** The end of a passage that begins at `start` and is as long as it may be, or nearly, tried with `length` characters first. */
async function longest(
  text: string, start: number, last: number, length: number, tokens: number, count: (part: string) => Promise<number>,
): Promise<{ end: number; used: number }> {
  for (;;) {
    const end = start + length >= last ? last : endWithin(text, start, start + length);
    const used = Math.max(1, await count(text.slice(start, end)));
    if (used <= tokens || end - start <= 2) return { end, used };
    // Always shorter, so that it comes to an end.
    length = Math.max(2, Math.floor((end - start) * Math.min(0.95, (0.98 * tokens) / used)));
  }
}

/** The best place for an end in the second half of what lies between. */
function endWithin(text: string, start: number, end: number): number {
  const half = start + ((end - start) >> 1);
  const part = text.slice(half, end);
  for (const pattern of ENDS) {
    let best = -1;
    for (const { index, 0: match } of part.matchAll(pattern)) best = index + match.length;
    if (best > 0) return half + best;
  }
  return whole(text, end);
}

/** Where the next passage begins: at a word, about `back` characters before the end of this one, and after its start. */
function nextStart(text: string, start: number, end: number, back: number): number {
  const from = Math.max(start + 1, end - back);
  const [space] = text.slice(from - 1, end).match(/\s+/) ?? [];
  if (from >= end || space === undefined) return whole(text, end);
  const at = from - 1 + text.slice(from - 1, end).indexOf(space) + space.length;
  return at < end ? at : skipped(text, end);
}

/** After white space. */
function skipped(text: string, at: number): number {
  return text.length - text.slice(at).trimStart().length;
}

/** Not between the halves of a character. */
function whole(text: string, at: number): number {
  return /[\udc00-\udfff]/.test(text[at] ?? "") && /[\ud800-\udbff]/.test(text[at - 1] ?? "") ? at - 1 : at;
}
