// Texts in passages that a model can read whole.

/** About as many characters as are one thought, and far fewer than the model's 256 tokens have. */
const LONG = 400;

/** Paragraphs and items of lists; long ones by lines, by sentences, or by words. */
export function passagesOf(whole: string): string[] {
  return whole
    .split(/\n\s*\n|\n(?=\s*[-*•\d])/)
    .flatMap((part) => shorter(part, [/(?<=\n)/, /(?<=[.!?…。！？])\s+/, /(?<=\s)/]))
    .map((part) => part.replace(/\s+/g, " ").trim())
    .filter((part) => part.length > 2);
}

/** A part, or if it is long what the first of the cuts makes of it, neighbours that are short together. */
function shorter(part: string, cuts: RegExp[]): string[] {
  const [cut, ...finer] = cuts;
  if (part.length < LONG) return [part];
  if (!cut) return Array.from({ length: Math.ceil(part.length / LONG) }, (_, at) => part.slice(at * LONG, (at + 1) * LONG));
  const found: string[] = [];
  let together = "";
  for (const piece of part.split(cut).flatMap((piece) => shorter(piece, finer))) {
    if (together && together.length + piece.length > LONG) {
      found.push(together);
      together = "";
    }
    together = together ? `${together} ${piece}` : piece;
  }
  return together ? [...found, together] : found;
}
