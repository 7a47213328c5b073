import { open, type Neighbour, type WordVectors } from "nanoembed/slim";
import { choices } from "./choices.js";
import { bytes, element, latest, say, takeFiles } from "./page.js";
import { stripes } from "./stripes.js";

let words: WordVectors | undefined;
const input = (id: string) => element<HTMLInputElement>(id);

const fail = ({ message }: Error) => say(message, true);
const opening = latest(({ message }) => say(`${asked}: ${message}`, true));
const looking = latest(fail);
const comparing = latest(fail);
/** What the file that was asked for last is called. */
let asked = "";

/** What is looked up first: a word, and three of an analogy. Of other files it is what they begin with. */
const EXAMPLES: Record<string, [word: string, a: string, b: string, c: string]> = {
  "./words.fifu": ["river", "king", "queen", "prince"],
  "./sample.fifu": ["dieselbe", "der", "die", "dieser"],
};

const use = (source: File | string, name: string) => opening(async (signal) => {
  asked = name;
  say(`Reading the vocabulary of ${name}…`);
  const start = performance.now();
  const found = await open(source, { duplicates: "first", signal });
  if (signal.aborted) {
    found.dispose();
    return;
  }
  // Until then the file before can be used.
  void looking(async () => {});
  void comparing(async () => {});
  words?.dispose();
  words = found;
  const size = typeof source === "string" ? "" : `, ${bytes(source.size)}`;
  say(`${name}: ${words.count.toLocaleString()} words of ${words.dims} numbers${size}; ${words.subwords === "simple" ? "no vectors" : `vectors by ${words.subwords}`} for other words. Open after ${(performance.now() - start).toFixed(0)} ms.`);
  const some = [];
  for (let row = 0; row < Math.min(found.count, 200); row += 1) some.push(await found.word(row));
  signal.throwIfAborted();
  element("some").replaceChildren(...some.map((word) => Object.assign(document.createElement("option"), { value: word })));
  const [first = "", second = "", third = ""] = some.filter((word) => /^\p{L}{4,}$/u.test(word));
  const example = typeof source === "string" ? EXAMPLES[source] : undefined;
  const [word, a, b, c] = example ?? [first, first, second, third];
  [input("word").value, input("a").value, input("b").value, input("c").value] = [word, a, b, c];
  await look();
  await compare();
});

function list(id: string, found: Neighbour[]): void {
  const items = found.map(({ word, score }) => {
    const item = document.createElement("li");
    const [name, number] = [document.createElement("span"), document.createElement("span")];
    const bar = document.createElement("i");
    [name.textContent, number.textContent, bar.style.width] = [word, score.toFixed(3), `${100 * Math.max(0, Math.min(1, score))}%`];
    item.append(bar, name, number);
    return item;
  });
  choices(items, "option", (at) => {
    input("word").value = found[at]!.word;
    void look();
  });
  element(id).replaceChildren(...items);
}

const look = () => looking(async (signal) => {
  const word = input("word").value.trim();
  if (!words || !word) return;
  const start = performance.now();
  const found = await words.vector(word, { signal });
  signal.throwIfAborted();
  const time = performance.now() - start;
  element("kind").textContent = !found
    ? "Not in the vocabulary, and none of its letters' sequences are."
    : found.known
      ? `In the vocabulary. Vector in ${time.toFixed(1)} ms.`
      : `Not in the vocabulary: made of ${found.subwords} sequences of letters. Vector in ${time.toFixed(1)} ms.`;
  stripes(element<HTMLCanvasElement>("vector"), found?.vector ?? new Float32Array());
  const neighbours = found ? await words.similar(word, { k: 10, signal }) : [];
  signal.throwIfAborted();
  list("neighbours", neighbours);
});

const compare = () => comparing(async (signal) => {
  const [a, b, c] = ["a", "b", "c"].map((id) => input(id).value.trim());
  if (!words || !a || !b || !c) {
    list("answers", []);
    return;
  }
  const answers = await words.analogy(a, b, c, { k: 8, signal });
  signal.throwIfAborted();
  list("answers", answers);
});

input("word").addEventListener("input", () => void look());
element("analogy").addEventListener("submit", (event) => {
  event.preventDefault();
  void compare();
});
takeFiles((source, name) => void use(source, name));
for (const button of document.querySelectorAll<HTMLButtonElement>("[data-sample]")) {
  button.addEventListener("click", () => void use(button.dataset["sample"]!, button.dataset["sample"]!.slice(2)));
}
void use("./words.fifu", "words.fifu");
