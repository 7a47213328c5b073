import { open, type Neighbour, type WordVectors } from "nanoembed/slim";
import { bytes, colour, element, say, sharp, takeFiles } from "./page.js";

let words: WordVectors | undefined;
const input = (id: string) => element<HTMLInputElement>(id);

async function use(source: File | string, name: string): Promise<void> {
  words?.dispose();
  words = undefined;
  say(`Reading the vocabulary of ${name}…`);
  const start = performance.now();
  try {
    words = await open(source, { duplicates: "first" });
  } catch (error) {
    say(`${name}: ${(error as Error).message}`, true);
    return;
  }
  const size = typeof source === "string" ? "" : `, ${bytes(source.size)}`;
  say(`${name}: ${words.count.toLocaleString()} words of ${words.dims} numbers${size}; unknown words by ${words.subwords === "simple" ? "nothing" : words.subwords}. Open after ${(performance.now() - start).toFixed(0)} ms.`);
  const some = [];
  for (let row = 0; row < Math.min(words.count, 200); row += 1) some.push(await words.word(row));
  element("some").replaceChildren(...some.map((word) => Object.assign(document.createElement("option"), { value: word })));
  const [a = "", b = "", c = ""] = some.filter((word) => /^\p{L}{4,}$/u.test(word));
  [input("word").value, input("a").value, input("b").value, input("c").value] = [a, a, b, c];
  await look();
  await compare();
}

function list(id: string, found: Neighbour[]): void {
  element(id).replaceChildren(
    ...found.map(({ word, score }) => {
      const item = document.createElement("li");
      const [name, number] = [document.createElement("span"), document.createElement("span")];
      const bar = document.createElement("i");
      [name.textContent, number.textContent, bar.style.width] = [word, score.toFixed(3), `${100 * Math.max(0, Math.min(1, score))}%`];
      item.append(bar, name, number);
      item.addEventListener("click", () => {
        input("word").value = word;
        void look();
      });
      return item;
    }),
  );
}

let looked: AbortController | undefined;
async function look(): Promise<void> {
  looked?.abort();
  const { signal } = (looked = new AbortController());
  const word = input("word").value.trim();
  if (!words || !word) return;
  try {
    const start = performance.now();
    const found = await words.vector(word, { signal });
    const time = performance.now() - start;
    element("kind").textContent = !found
      ? "Not in the vocabulary, and none of its letters' sequences are."
      : found.known
        ? `In the vocabulary. Vector in ${time.toFixed(1)} ms.`
        : `Not in the vocabulary: made of ${found.subwords} sequences of letters. Vector in ${time.toFixed(1)} ms.`;
    stripes(found?.vector ?? new Float32Array());
    list("neighbours", found ? await words.similar(word, { k: 10, signal }) : []);
  } catch (error) {
    if ((error as Error).name !== "AbortError") say((error as Error).message, true);
  }
}

/** A vector as stripes: green above zero, red below. */
function stripes(vector: Float32Array): void {
  const { context, width, height } = sharp(element<HTMLCanvasElement>("vector"));
  const most = Math.max(1e-9, ...vector.map(Math.abs));
  vector.forEach((value, at) => {
    context.fillStyle = value > 0 ? colour("accent") : colour("bad");
    context.globalAlpha = Math.abs(value) / most;
    context.fillRect((at * width) / vector.length, 0, width / vector.length + 0.5, height);
  });
}

async function compare(): Promise<void> {
  if (!words) return;
  list("answers", await words.analogy(input("a").value, input("b").value, input("c").value, { k: 8 }));
}

input("word").addEventListener("input", () => void look());
element("analogy").addEventListener("submit", (event) => {
  event.preventDefault();
  compare().catch((error: Error) => say(error.message, true));
});
takeFiles((source, name) => void use(source, name));
void use("./sample.fifu", "sample.fifu");
