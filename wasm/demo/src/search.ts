import type { SentenceModel } from "nanoembed";
import { createIndex, NanoembedError, type IndexPassage, type SearchIndex } from "nanoembed/search-index";
import { createWorker } from "nanoembed/worker";
import { chosen as chosenFiles, dropped, textOf, type Given } from "./folders.js";
import { choices } from "./choices.js";
import { bytes, colour, element, latest, say, sharp, takeDrops } from "./page.js";
import { sample } from "./sample.js";
import { plane } from "./plane.js";

const text = element<HTMLTextAreaElement>("text");
const question = element<HTMLInputElement>("question");
const map = element<HTMLCanvasElement>("map");
const progress = element<HTMLProgressElement>("progress");

/** The id of the text in the page; files have their paths, which do not begin so. */
const TEXT = "/text";
/** So many passages are on the map. */
const MOST_POINTS = 2000;

let index: SearchIndex | undefined;
/** Those on the map. */
let passages: IndexPassage[] = [];
let points: [number, number][] = [];
let scores = new Float32Array();
let chosen = -1;

const fail = (error: Error) => {
  progress.hidden = true;
  const isFull = error instanceof NanoembedError && error.code === "quota_exceeded";
  say(isFull ? `There is no room for more in this browser. What was read before can be searched. (${error.message})` : error.message, true);
};
const reading = latest(fail);
const taking = latest(fail);
const asking = latest(fail);

const said = ({ text }: IndexPassage) => (text ?? "").replace(/\s+/g, " ");
const keyOf = ({ id, start }: IndexPassage) => `${start} ${id}`;

/** Reads the text in the page anew, if it is another. */
const read = () => reading(async (signal) => {
  // Before the model is there it is read as soon as it is.
  if (!index) return;
  const known = await index.get(TEXT);
  if (known?.text === text.value) return;
  const start = performance.now();
  clearFound();
  progress.hidden = false;
  const { passages: count } = await index.add({ id: TEXT, text: text.value }, {
    signal,
    onEmbedded({ done, total }) {
      say(`Reading: ${done} of ${total} passages`);
      progress.value = done / total;
    },
  });
  progress.hidden = true;
  await show();
  say(`${count} passages, read in ${(performance.now() - start).toFixed(0)} ms on this device`);
  await ask();
});

/** Reads files that are new or have changed. */
const take = (given: Given[]) => taking(async (signal) => {
  if (!index) return say("The model is not there yet", true);
  const start = performance.now();
  progress.hidden = false;
  let [done, read, left] = [0, 0, 0];
  const documents = async function* () {
    for (const each of given) {
      done += 1;
      progress.value = done / given.length;
      say(`Reading: ${done} of ${given.length} files`);
      const metadata = { modified: each.file.lastModified, size: each.file.size };
      const known = (await index!.get(each.path))?.metadata as typeof metadata | undefined;
      if (known?.modified === metadata.modified && known.size === metadata.size) continue;
      const content = await textOf(each);
      if (content === undefined) left += 1;
      else {
        read += 1;
        yield { id: each.path, text: content, metadata };
      }
    }
  };
  try {
    await index.add(documents(), { signal });
  } finally {
    // What was read until then is kept.
    await show();
  }
  progress.hidden = true;
  say(`${read} of ${given.length} files read in ${((performance.now() - start) / 1000).toFixed(1)} s${left > 0 ? `; ${left} are no texts, or too large` : ""}`);
  await ask();
});

const forget = (ids: string[]) => taking(async () => {
  await index!.remove(ids);
  await show();
  await ask();
});

/** What was found among other passages is nothing any more. */
function clearFound(): void {
  [passages, points, scores] = [[], [], new Float32Array()];
  element("hits").replaceChildren();
  choose(-1);
}

/** Draws the map, and the list of files. */
async function show(): Promise<void> {
  const { passages: all, vectors } = await index!.contents();
  clearFound();
  passages = all.slice(0, MOST_POINTS);
  const { data, scales, dims } = vectors;
  points = plane(Float32Array.from({ length: passages.length * dims }, (_, at) => data[at]! * scales![Math.floor(at / dims)]!), dims);
  scores = new Float32Array(passages.length);
  draw();
  const files = (await index!.ids()).filter((id) => id !== TEXT);
  const counts = new Map<string, number>();
  for (const { id } of all) counts.set(id, (counts.get(id) ?? 0) + 1);
  element("kept").textContent = files.length === 0 ? "None yet. Drop files or folders anywhere on this page."
    : `${files.length} files, ${all.length - (counts.get(TEXT) ?? 0)} passages. They are here at the next visit, too.`;
  element("forget").hidden = files.length === 0;
  element("documents").replaceChildren(...files.slice(0, 200).map((id) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.textContent = "Forget";
    button.setAttribute("aria-label", `Forget ${id}`);
    button.addEventListener("click", () => void forget([id]));
    item.append(`${id} (${counts.get(id) ?? 0})`, button);
    return item;
  }));
}

const ask = () => asking(async (signal) => {
  const words = question.value.trim();
  const hits = element("hits");
  if (!index || !words || index.passages === 0) {
    hits.replaceChildren();
    scores.fill(0);
    choose(-1);
    return;
  }
  const start = performance.now();
  const found = await index.search(words, { k: MOST_POINTS, signal });
  signal.throwIfAborted();
  const time = performance.now() - start;
  const places = new Map(passages.map((passage, at) => [keyOf(passage), at]));
  scores = new Float32Array(passages.length);
  for (const hit of found) {
    const at = places.get(keyOf(hit));
    if (at !== undefined) scores[at] = hit.score;
  }
  const best = found.slice(0, 8);
  const items = best.map((hit) => {
    const item = document.createElement("li");
    const number = document.createElement("b");
    number.textContent = hit.score.toFixed(2);
    const passage = document.createElement("span");
    passage.textContent = said(hit);
    if (hit.id !== TEXT) {
      const from = document.createElement("em");
      from.textContent = hit.id;
      passage.append(from);
    }
    item.append(number, passage);
    return item;
  });
  choices(items, "option", (at) => {
    choose(places.get(keyOf(best[at]!)) ?? -1);
    element("picked").textContent = said(best[at]!);
  });
  hits.replaceChildren(...items);
  say(`${index.passages} passages searched in ${time.toFixed(1)} ms`);
  choose(found[0] ? (places.get(keyOf(found[0])) ?? -1) : -1);
});

function choose(index: number): void {
  chosen = index;
  element("picked").textContent = index < 0 ? "Point at a dot to read it." : said(passages[index]!);
  draw();
}

const place = ([x, y]: [number, number], width: number, height: number) => [16 + x * (width - 32), 16 + y * (height - 32)] as const;

function draw(): void {
  const { context, width, height } = sharp(map);
  const best = Math.max(0.01, ...scores);
  points.forEach((point, index) => {
    const [x, y] = place(point, width, height);
    const strength = Math.max(0, scores[index]! / best) ** 2;
    context.globalAlpha = 0.35 + 0.65 * strength;
    context.fillStyle = scores[index]! > 0.6 * best && question.value ? colour("accent") : colour("faint");
    context.beginPath();
    context.arc(x, y, 4 + 5 * strength, 0, 7);
    context.fill();
  });
  const point = points[chosen];
  if (point) {
    const [x, y] = place(point, width, height);
    context.globalAlpha = 1;
    context.strokeStyle = colour("accent");
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, 13, 0, 7);
    context.stroke();
  }
}

function nearest(event: PointerEvent): number {
  const { left, top, width, height } = map.getBoundingClientRect();
  let best = { index: -1, distance: 900 };
  points.forEach((point, index) => {
    const [x, y] = place(point, width, height);
    const distance = (x - event.clientX + left) ** 2 + (y - event.clientY + top) ** 2;
    if (distance < best.distance) best = { index, distance };
  });
  return best.index;
}
map.addEventListener("pointermove", (event) => nearest(event) >= 0 && choose(nearest(event)));
map.addEventListener("pointerdown", (event) => nearest(event) >= 0 && choose(nearest(event)));
addEventListener("resize", draw);

/** The index that is kept here, or one for this visit where nothing can be kept. */
async function openIndex(model: SentenceModel): Promise<SearchIndex> {
  const options = { model, modelName: "all-MiniLM-L6-v2", name: "demo", chunk: { tokens: 128, overlap: 16, paragraphs: true } };
  try {
    return await createIndex({ ...options, store: "indexeddb" });
  } catch (error) {
    if (!(error instanceof NanoembedError) || error.code !== "store_unavailable") throw error;
    return createIndex(options);
  }
}

async function start(): Promise<void> {
  const began = performance.now();
  const model = await createWorker({ workers: Math.min(2, navigator.hardwareConcurrency || 1) }).load("./all-MiniLM-L6-v2.int8.weights", {
    kind: "sentences",
    cache: "cache-api",
    onProgress({ loaded, total, phase }) {
      progress.value = loaded / (total ?? 24e6);
      say(`${phase === "cache" ? "Reading" : "Downloading"} the model: ${bytes(loaded)}`);
    },
  });
  index = await openIndex(model);
  progress.hidden = true;
  question.disabled = false;
  say(`Model ready after ${((performance.now() - began) / 1000).toFixed(1)} s`);
  // What somebody has typed meanwhile counts; else what was there at the last visit.
  const known = await index.get(TEXT);
  if (known && text.value === sample) text.value = known.text;
  await show();
  await read();
  question.value ||= "How does a plant get its energy?";
  await ask();
}

text.value = sample;
let waiting: ReturnType<typeof setTimeout>;
text.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => void read(), 400);
});
question.addEventListener("input", () => void ask());
for (const id of ["folder", "files"]) {
  const chooser = element<HTMLInputElement>(id);
  chooser.addEventListener("change", () => {
    const given = chosenFiles(chooser.files ?? []);
    // The same may be chosen again, when it has changed.
    chooser.value = "";
    void take(given);
  });
}
takeDrops((given) => void dropped(given).then(take, fail));
element("forget").addEventListener("click", () => void index?.ids().then((ids) => forget(ids.filter((id) => id !== TEXT))));
start().catch(fail);
