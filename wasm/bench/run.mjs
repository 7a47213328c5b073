// npm run bench [-- --rounds 15 --peers nanoembed,onnxruntime --int8 FILE]
//
// nanoembed against onnxruntime-web and transformers.js on all-MiniLM-L6-v2, one thread, the same token ids. Wants the
// files that `python3 tests/peers/bench.py setup` makes, and `npm install` in this folder.
//
// Latency: all peers live in one page and take turns, in an order shuffled for every round; ratios are taken turn against
// turn of the same round. Cold: a fresh browser for each peer that is done with its own start, files from a server on the
// same machine that has them in memory; medians of three. Nobody looks on then: developer tools keep a copy of all that a page
// fetches, up to 20 MB each, and pages wait for it.
import { execSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import { cpus, loadavg, tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { draw } from "./chart.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "../..");
const { values } = parseArgs({ options: {
  rounds: { type: "string", default: "15" },
  peers: { type: "string", default: "nanoembed,onnxruntime,transformers" },
  sizes: { type: "string", default: "8,32,128" },
  models: { type: "string", default: join(root, "tests/peers/.cache") },
  int8: { type: "string" },
  results: { type: "string", default: join(here, "results/browser.json") },
} });
const models = (name) => join(values.models, name);
const sizes = values.sizes.split(",").map(Number);

/** What the server has under which address. */
const served = {
  "/": join(here, "page.html"),
  "/page.js": join(here, "page.js"),
  "/minilm-f32.weights": models("weights/minilm-f32.weights"),
  "/minilm-int8.weights": values.int8 ?? models("weights/minilm-int8-web.weights"),
  "/minilm.amb": models("weights/minilm-adaptive.amb"),
  "/minilm-f32.onnx": models("onnx/minilm-f32.onnx"),
  "/minilm-int8.onnx": models("onnx/minilm-int8.onnx"),
  "/models/minilm/config.json": models("model/config.json"),
  "/models/minilm/tokenizer.json": models("model/tokenizer.json"),
  "/models/minilm/tokenizer_config.json": models("model/tokenizer_config.json"),
  "/models/minilm/onnx/model.onnx": models("onnx/minilm-f32.onnx"),
  "/models/minilm/onnx/model_quantized.onnx": models("onnx/minilm-int8.onnx"),
};
const types = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm", ".json": "application/json" };

const allPeers = {
  "nanoembed f32": ["nanoembed", { model: "/minilm-f32.weights" }],
  "onnxruntime-web f32": ["onnxruntime", { model: "/minilm-f32.onnx" }],
  "transformers.js f32": ["transformers", { dtype: "fp32" }],
  "nanoembed int8": ["nanoembed", { model: "/minilm-int8.weights" }],
  "nanoembed AMB": ["nanoembed", { model: "/minilm.amb" }],
  "onnxruntime-web int8": ["onnxruntime", { model: "/minilm-int8.onnx" }],
  "transformers.js int8": ["transformers", { dtype: "q8" }],
};
const wanted = values.peers.split(",");
const peers = Object.fromEntries(Object.entries(allPeers).filter(([, [kind]]) => wanted.includes(kind)));
/** Which peers each of ours is measured against. */
const against = {
  "nanoembed f32": ["onnxruntime-web f32", "transformers.js f32"],
  "nanoembed int8": ["onnxruntime-web int8", "transformers.js int8"],
  "nanoembed AMB": ["onnxruntime-web int8", "transformers.js int8"],
};

/** Files as a server has them that was asked before: reading one from disk would delay what is asked for next. */
const files = new Map();
function contents(file) {
  if (!files.has(file)) files.set(file, readFileSync(file));
  return files.get(file);
}

/** What was asked for: addresses and their bytes. */
let sent = new Map();
/** Bytes over the wire, code compressed. Not while a page waits: compressing takes longer than sending. */
const wireBytes = ([path, bytes]) => (isModel(path) ? bytes.length : gzipSync(bytes).length);
const isModel = (path) => /\.(onnx|weights|amb)$/.test(path);
/** What the pages that are open ask for: a peer to open, when that is known, and what becomes of it. */
const told = new Map();
function tell(path, request, response) {
  if (path === "/peer") told.get("/peer")(response);
  else {
    let body = "";
    request.on("data", (piece) => { body += piece; }).on("end", () => { response.end(); told.get(path)(JSON.parse(body)); });
  }
}
const server = createServer((request, response) => {
  const path = decodeURIComponent(request.url.split("?")[0]);
  if (told.has(path)) return tell(path, request, response);
  const file = served[path] ?? (path.startsWith("/nm/") ? join(here, "node_modules", path.slice(4)) : path.startsWith("/dist/") ? join(here, "..", path) : "");
  if (!file || !existsSync(file) || !statSync(file).isFile()) return response.writeHead(path.endsWith("tokenizer_config.json") ? 200 : 404, { "content-type": "application/json" }).end(path.endsWith("tokenizer_config.json") ? '{"tokenizer_class":"BertTokenizer"}' : "");
  const bytes = contents(file);
  if (path !== "/" && path !== "/page.js" && request.method === "GET") sent.set(path, bytes);
  response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream", "content-length": bytes.length, "cache-control": "no-store", etag: `"${bytes.length}"` });
  response.end(request.method === "HEAD" ? undefined : bytes);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const args = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"];

/** Opens a peer in a fresh browser, in which a page of ours is all there is; what the page says of it. */
async function cold(...peer) {
  const profile = mkdtempSync(join(tmpdir(), "nanoembed-bench-"));
  const asked = new Promise((resolve) => told.set("/peer", resolve));
  const done = new Promise((resolve) => told.set("/done", resolve));
  const address = `http://127.0.0.1:${server.address().port}/?cold`;
  const child = spawn(executablePath, ["--headless=new", ...args, `--user-data-dir=${profile}`, address], { stdio: "ignore" });
  const ended = new Promise((resolve) => child.once("exit", resolve).once("error", resolve));
  const lost = ended.then((cause) => Promise.reject(new Error(`${peer[0]}: ${executablePath} ended too early (${cause})`)));
  try {
    const response = await Promise.race([asked, lost]);
    // A browser that has just been started is busy with itself for a second.
    await setTimeout(2000);
    const empty = rendererMemory("VmRSS");
    sent = new Map();
    response.end(JSON.stringify(peer));
    const result = await Promise.race([done, lost]);
    if (result.error) throw new Error(`${peer[0]}: ${result.error}`);
    return { ...result, memory: growth(empty) };
  } finally {
    told.clear();
    lost.catch(() => {}); // as it should, now
    child.kill();
    await ended;
    // Its helpers end a moment later, and write until then.
    await rm(profile, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** A fresh browser with the page open. */
async function browser() {
  const profile = mkdtempSync(join(tmpdir(), "nanoembed-bench-"));
  const context = await chromium.launchPersistentContext(profile, { executablePath, args });
  const page = await context.newPage();
  page.on("pageerror", (error) => console.error(String(error)));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.waitForFunction("window.ready");
  return { page, close: async () => { await context.close(); rmSync(profile, { recursive: true, force: true }); } };
}

/** Memory of our browser's renderers by process, in MB: `VmRSS` now, `VmHWM` at most until now. */
function rendererMemory(field) {
  const processes = execSync("ps -eo pid,ppid,args").toString().split("\n").slice(1)
    .map((line) => line.trim().split(/\s+/)).map(([pid, ppid, ...args]) => ({ pid: +pid, ppid: +ppid, args: args.join(" ") }));
  const parents = new Map(processes.map(({ pid, ppid }) => [pid, ppid]));
  const isOurs = (pid) => { for (let at = pid; at > 1; at = parents.get(at) ?? 0) if (at === process.pid) return true; return false; };
  return new Map(processes.filter(({ pid, args }) => args.includes("--type=renderer") && isOurs(pid)).map(({ pid }) => {
    try { return [pid, +new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1] / 1024]; } catch { return [pid, 0]; }
  }));
}

/** How far above `before` that renderer went that grew most: the page's. */
const growth = (before) => Math.max(0, ...[...rendererMemory("VmHWM")].map(([pid, peak]) => peak - (before.get(pid) ?? peak)));

const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
const cosine = (a, b) => a.reduce((sum, value, at) => sum + value * b[at], 0) / (Math.hypot(...a) * Math.hypot(...b));

const result = { cpu: cpus()[0].model, date: new Date().toISOString().slice(0, 10), load_before: loadavg()[0], cold: {}, latency: {}, ratios: {}, agreement: {} };

for (const [name, [kind, options]] of Object.entries(peers)) {
  const runs = [];
  for (let run = 0; run < 3; run += 1) {
    runs.push(await cold(name, kind, options));
  }
  const first = runs.map((run) => run.first);
  const total = (requests) => requests.map(wireBytes).reduce((a, b) => a + b, 0);
  const requests = [...sent];
  result.cold[name] = { first_ms: Math.round(median(first)), memory_mb: Math.round(median(runs.map((run) => run.memory))), download_mb: +(total(requests) / 1e6).toFixed(2),
    code_kb: Math.round(total(requests.filter(([path]) => !isModel(path))) / 1e3) };
  console.error(name, JSON.stringify(result.cold[name]));
}

{
  const { page, close } = await browser();
  for (const [name, [kind, options]] of Object.entries(peers)) await page.evaluate((args) => window.cold(...args), [name, kind, options]);
  for (const name of Object.keys(peers)) await page.evaluate((args) => window.warm(...args), [name, 2500]);
  for (const size of sizes) {
    const times = Object.fromEntries(Object.keys(peers).map((name) => [name, []]));
    const vectors = {};
    for (let round = 0; round < +values.rounds; round += 1) {
      for (const name of Object.keys(peers).sort(() => Math.random() - 0.5)) {
        const turn = await page.evaluate((args) => window.turn(...args), [name, size, size > 64 ? 1 : 3]);
        times[name].push(turn.milliseconds);
        vectors[name] = turn.vector;
      }
    }
    result.latency[size] = Object.fromEntries(Object.entries(times).map(([name, list]) => [name, +median(list).toFixed(2)]));
    result.ratios[size] = {};
    for (const [own, others] of Object.entries(against)) {
      for (const other of others.filter((name) => name in peers && own in peers)) {
        (result.ratios[size][other] ??= {})[own] = +median(times[other].map((time, round) => time / times[own][round])).toFixed(2);
      }
    }
    const reference = vectors["onnxruntime-web f32"];
    if (reference) result.agreement[size] = Object.fromEntries(Object.entries(vectors).map(([name, vector]) => [name, +cosine(vector, reference).toFixed(5)]));
    console.error(size, JSON.stringify(result.latency[size]), JSON.stringify(result.ratios[size]));
  }
  await close();
}
server.close();
result.load_after = loadavg()[0];
mkdirSync(dirname(values.results), { recursive: true });
writeFileSync(values.results, `${JSON.stringify(result, null, 1)}\n`);
draw(result, dirname(values.results));

const row = (cells) => `| ${cells.join(" | ")} |`;
console.log(row(["peer", ...sizes.map((size) => `${size} tokens`), "load to first, ms", "download, MB", "code, KB gzip", "memory, MB"]));
console.log(row(["---", ...sizes.map(() => "---"), "---", "---", "---", "---"]));
for (const name of Object.keys(peers)) {
  const { first_ms, download_mb, code_kb, memory_mb } = result.cold[name];
  console.log(row([name, ...sizes.map((size) => {
    const ratios = Object.values(result.ratios[size][name] ?? {}).map((ratio) => `${ratio} ×`);
    return `${result.latency[size][name]}${ratios.length > 0 ? ` (${ratios.join(", ")})` : ""}`;
  }), first_ms, download_mb, code_kb, memory_mb]));
}
