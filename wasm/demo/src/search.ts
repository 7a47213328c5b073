import { topK, type SentenceModel } from "nanoembed";
import { createWorker } from "nanoembed/worker";
import { bytes, colour, element, latest, pressable, say, sharp, takeFiles } from "./page.js";
import { passagesOf } from "./passages.js";
import { sample } from "./sample.js";
import { plane } from "./plane.js";

const text = element<HTMLTextAreaElement>("text");
const question = element<HTMLInputElement>("question");
const map = element<HTMLCanvasElement>("map");
const progress = element<HTMLProgressElement>("progress");

let model: SentenceModel | undefined;
let passages: string[] = [];
let vectors = new Float32Array();
let points: [number, number][] = [];
let scores = new Float32Array();
let chosen = -1;

const fail = ({ message }: Error) => say(message, true);
const reading = latest(fail);
const asking = latest(fail);

const read = () => reading(async (signal) => {
  // Before the model is there it is read as soon as it is.
  if (!model) return;
  const wanted = passagesOf(text.value);
  const start = performance.now();
  // What was found in another text is nothing any more.
  [passages, vectors, points, scores] = [[], new Float32Array(), [], new Float32Array()];
  element("hits").replaceChildren();
  choose(-1);
  const found: Float32Array[] = [];
  let tokens = 0;
  let cut = 0;
  progress.hidden = false;
  for await (const { data, index, tokens: used, truncated } of model.embedStream(wanted, { signal })) {
    found.push(data);
    tokens += used;
    cut += Number(truncated);
    if (index % 16 !== 15) continue;
    say(`Reading: ${index + 1} of ${wanted.length} passages`);
    progress.value = (index + 1) / wanted.length;
  }
  signal.throwIfAborted();
  progress.hidden = true;
  const dims = model.dims;
  const all = new Float32Array(found.length * dims);
  found.forEach((vector, at) => all.set(vector, at * dims));
  [passages, vectors, scores] = [wanted, all, new Float32Array(wanted.length)];
  points = plane(vectors, dims);
  const time = performance.now() - start;
  const said = `${wanted.length} passages, ${tokens} tokens, embedded in ${time.toFixed(0)} ms on this device`;
  say(cut > 0 ? `${said}; of ${cut} only the beginning` : said);
  await ask();
});

const ask = () => asking(async (signal) => {
  const words = question.value.trim();
  const hits = element("hits");
  if (!model || !words || passages.length === 0) {
    hits.replaceChildren();
    scores.fill(0);
    choose(-1);
    return;
  }
  const start = performance.now();
  const { data } = await model.embed(words, { signal });
  signal.throwIfAborted();
  const found = topK(data, vectors, passages.length);
  const time = performance.now() - start;
  scores = new Float32Array(passages.length);
  for (const { index, score } of found) scores[index] = score;
  hits.replaceChildren(
    ...found.slice(0, 8).map(({ index, score }) => {
      const item = document.createElement("li");
      const number = document.createElement("b");
      number.textContent = score.toFixed(2);
      const passage = document.createElement("span");
      passage.textContent = passages[index]!;
      item.append(number, passage);
      pressable(item, () => choose(index));
      return item;
    }),
  );
  say(`${passages.length} passages searched in ${time.toFixed(1)} ms`);
  chosen = found[0]?.index ?? -1;
  choose(chosen);
});

function choose(index: number): void {
  chosen = index;
  element("picked").textContent = index < 0 ? "Point at a dot to read it." : passages[index]!;
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
  if (points[chosen]) {
    const [x, y] = place(points[chosen], width, height);
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

async function start(): Promise<void> {
  const began = performance.now();
  model = await createWorker({ workers: Math.min(2, navigator.hardwareConcurrency || 1) }).load("./all-MiniLM-L6-v2.int8.weights", {
    kind: "sentences",
    cache: "cache-api",
    onProgress({ loaded, total, phase }) {
      progress.value = loaded / (total ?? 24e6);
      say(`${phase === "cache" ? "Reading" : "Downloading"} the model: ${bytes(loaded)}`);
    },
  });
  progress.hidden = true;
  question.disabled = false;
  say(`Model ready after ${((performance.now() - began) / 1000).toFixed(1)} s`);
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
/** As much of a file as is taken. */
const MOST_BYTES = 1 << 18;
takeFiles(async (source, name) => {
  if (typeof source === "string") return;
  const start = await source.slice(0, MOST_BYTES).text();
  if (start.includes("\0")) return say(`${name} is no text`, true);
  text.value = start;
  await read();
  if (model && source.size > MOST_BYTES) say(`The first ${bytes(MOST_BYTES)} of ${name}, which has ${bytes(source.size)}: ${passages.length} passages`);
});
start().catch((error: Error) => say(error.message, true));
