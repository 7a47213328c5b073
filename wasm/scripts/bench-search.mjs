// npm run bench:search [-- --dist FOLDER --count 100000 --dims 384 --rounds 15]
//
// Milliseconds of `topK` among vectors in 32 bits, 8 bits and one bit an element, in Chromium, as lines of JSON: the first
// call, and median, least and most of those after it. `--dist` names another version's files.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chromium, inPage } from "./chromium.mjs";

const { values } = parseArgs({ options: {
  dist: { type: "string", default: fileURLToPath(new URL("../dist", import.meta.url)) },
  count: { type: "string", default: "100000" },
  dims: { type: "string", default: "384" },
  rounds: { type: "string", default: "15" },
} });

/** Runs in the page. */
async function measure({ count, dims, rounds }) {
  const { quantizeVectors, topK } = await import("/index.js");
  let state = 1;
  const noise = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32 - 0.5;
  const length = Math.sqrt(dims / 12);
  const vectors = Float32Array.from({ length: count * dims }, () => noise() / length);
  const kinds = { f32: vectors, int8: quantizeVectors(vectors, dims, "int8"), binary: quantizeVectors(vectors, dims, "binary") };
  // What is loaded when vectors are quantised.
  await new Promise((over) => setTimeout(over, 500));
  return Object.entries(kinds).map(([kind, among]) => {
    const times = Array.from({ length: rounds + 1 }, () => {
      const query = Float32Array.from({ length: dims }, () => noise() / length);
      const start = performance.now();
      topK(query, among, 10);
      return performance.now() - start;
    });
    const [first, ...later] = times;
    later.sort((a, b) => a - b);
    return { kind, count, dims, first, median: later[later.length >> 1], least: later[0], most: later.at(-1) };
  });
}

if (!chromium) {
  console.error("There is no Chromium: install it, or set CHROMIUM to where it lies.");
  process.exit(1);
}
const types = { js: "text/javascript", wasm: "application/wasm" };
const answer = (url) => {
  const file = join(values.dist, url);
  return existsSync(file) ? [types[url.split(".").at(-1)] ?? "text/plain", readFileSync(file)] : undefined;
};
const given = { count: Number(values.count), dims: Number(values.dims), rounds: Number(values.rounds) };
for (const line of await inPage(answer, (page) => page.evaluate(measure, given))) console.log(JSON.stringify(line));
