// What it is worth that workers share a model, in Node: `node scripts/bench-sharing.mjs FILE [ROUNDS] [WORKERS …]`, FILE being a
// `.weights` file that they can share. In each round pools with a copy for each worker and pools that share it take turns; medians, and in
// the last line the median of the ratios of a round. CPU time is that of the whole process.
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { createWorker } from "../dist/worker.js";

const texts = Array.from({ length: 200 }, (_, at) =>
  `Text ${at} is about rain, trains and how passwords are reset when nobody remembers them. `.repeat(1 + at % 3));

/** Milliseconds on the clock and of CPU time that `run` takes. */
async function timed(run) {
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  await run();
  const { user, system } = process.cpuUsage(cpu);
  return [performance.now() - start, (user + system) / 1000];
}

async function measure(workers, share, bytes) {
  const pool = createWorker({ workers, share });
  await pool.memoryBytes();
  let model;
  const [load, loadCpu] = await timed(async () => { model = await pool.load(bytes, { kind: "sentences" }); });
  await model.embed(texts.slice(0, 60));
  const [embed, embedCpu] = await timed(() => model.embed(texts));
  const megabytes = (await pool.memoryBytes()) / 1e6;
  pool.dispose();
  // Threads end.
  await pause(100);
  return { megabytes, load, loadCpu, embed, embedCpu };
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

const [file, rounds = "5", ...sizes] = process.argv.slice(2);
const bytes = new Uint8Array(readFileSync(file));
for (const workers of sizes.length > 0 ? sizes.map(Number) : [2, 4]) {
  const copies = [];
  const shared = [];
  for (let round = 0; round < Number(rounds); round += 1) {
    const turns = [async () => copies.push(await measure(workers, false, bytes)), async () => shared.push(await measure(workers, true, bytes))];
    for (const turn of round % 2 ? turns.reverse() : turns) await turn();
  }
  const names = Object.keys(copies[0]);
  const line = (of) => names.map((name) => `${name} ${of(name)}`).join("  ");
  console.log(`${workers} workers, copies: ${line((name) => median(copies.map((one) => one[name])).toFixed(1))}`);
  console.log(`${workers} workers, shared: ${line((name) => median(shared.map((one) => one[name])).toFixed(1))}`);
  console.log(`${workers} workers, shared / copies: ${line((name) => median(shared.map((one, at) => one[name] / copies[at][name])).toFixed(2))}`);
}
