// npm run bench:queries [-- --dist FOLDER --texts 10000 --questions 40]
//
// Milliseconds until a question is answered while many texts are being embedded, in the page and in a pool of two workers, in
// Chromium, as lines of JSON: median, 95th percentile and most; and texts a second meanwhile. Short texts have some 12 tokens, long
// ones 128. `--dist` names another version's files.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chromium, inPage } from "./chromium.mjs";

const { values } = parseArgs({ options: {
  dist: { type: "string", default: fileURLToPath(new URL("../dist", import.meta.url)) },
  texts: { type: "string", default: "10000" },
  questions: { type: "string", default: "40" },
} });
const model = fileURLToPath(new URL("../../models/all-MiniLM-L6-v2.int8.weights", import.meta.url));

/** Runs in the page. */
async function measure({ place, length, texts, questions }) {
  const source = "/model.weights";
  const pool = place === "pool" ? (await import("/worker.js")).createWorker({ workers: 2 }) : undefined;
  const model = await (pool ?? (await import("/index.js"))).load(source, { kind: "sentences" });
  await model.embed("warm");
  const words = "the of and to in is that for it as was with be by on not he this are or his from at which but".split(" ");
  const text = (at) => Array.from({ length: length - 4 }, (_, word) => words[(at * 7 + word * 3) % words.length]).join(" ");
  const controller = new AbortController();
  let done = 0;
  const many = model.embed(Array.from({ length: texts }, (_, at) => text(at)), {
    signal: controller.signal, onProgress: (progress) => (done = progress.done),
  }).catch(() => {});
  const times = [];
  const start = performance.now();
  for (let at = 0; at < questions; at += 1) {
    // At any time, as somebody who types; what the page does then is part of the wait.
    const pause = 60 + ((at * 37) % 50);
    const asked = performance.now() + pause;
    await new Promise((over) => setTimeout(over, pause));
    await model.embed(`How is bread number ${at} made?`);
    times.push(performance.now() - asked);
  }
  const rate = Math.round((done * 1000) / (performance.now() - start));
  const isUnderWay = done < texts;
  controller.abort();
  await many;
  pool?.dispose();
  times.sort((a, b) => a - b);
  const [median, p95, most] = [times[times.length >> 1], times[Math.floor(times.length * 0.95)], times.at(-1)].map((time) => Math.round(time));
  return { place, tokens: length, texts, isUnderWay, median, p95, most, "texts/s": rate };
}

const types = { ".js": "text/javascript", ".wasm": "application/wasm" };
const answer = (url) => {
  if (url === "/model.weights") return ["application/octet-stream", readFileSync(model)];
  const file = join(values.dist, url);
  return existsSync(file) ? [types[url.slice(url.lastIndexOf("."))] ?? "text/plain", readFileSync(file)] : undefined;
};
if (!chromium) throw new Error("no Chromium");
for (const place of ["page", "pool"]) {
  for (const length of [12, 128]) {
    const options = { place, length, texts: Number(values.texts), questions: Number(values.questions) };
    console.log(JSON.stringify(await inPage(answer, (page) => page.evaluate(measure, options))));
  }
}
