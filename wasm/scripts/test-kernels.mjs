// Runs core's own kernel tests as WebAssembly: simd128 under Node, relaxed SIMD in Chromium (Node 20 has an early draft of
// it that computes something else).
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const root = dirname(here);

/** Kernels, and their products with blocks, which are tested where activations are quantised for them. */
const TESTS = ["kernel", "model::grouped"];

/** Every family of weights, and one format of six: kernels do not know of formats. */
const FEATURES = "embd,blocks-ggml,scaled-codes,hqq,fp8,afq,f8q8,mxfp4";

/** The test program for these target features. */
function build(features) {
  execFileSync("rustup", ["target", "add", "wasm32-wasip1"], { stdio: "ignore" });
  const messages = execFileSync("cargo", ["test", "--locked", "-p", "nanoembed-core", "--no-default-features", "--features", FEATURES,
    "--lib", "--target", "wasm32-wasip1", "--no-run", "--message-format", "json"],
    { cwd: root, env: { ...process.env, RUSTFLAGS: `-C target-feature=${features}` }, stdio: ["ignore", "pipe", "inherit"], maxBuffer: 1 << 28 });
  const programs = messages.toString().trim().split("\n").map((line) => JSON.parse(line).executable).filter(Boolean);
  return programs.at(-1);
}

console.log("kernels, simd128, Node");
const runner = join(here, "tests/wasi-runner.mjs");
const node = spawnSync(process.execPath, [runner, build("+simd128"), ...TESTS, "--test-threads", "1"], { stdio: "inherit" });
if (node.status !== 0) process.exit(1);

const chromium = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"].find((place) => place && existsSync(place));
if (!chromium) {
  console.log("SKIPPED kernels, relaxed SIMD: there is no Chromium");
  process.exit(0);
}
console.log("kernels, relaxed SIMD, Chromium");
const files = {
  "/": ["text/html", "<!doctype html>"],
  "/wasi.js": ["text/javascript", readFileSync(join(here, "tests/wasi-page.js"))],
  "/tests.wasm": ["application/wasm", readFileSync(build("+simd128,+relaxed-simd"))],
};
const server = createServer(({ url }, response) => {
  const [type, bytes] = files[url] ?? ["text/plain", ""];
  response.writeHead(files[url] ? 200 : 404, { "content-type": type }).end(bytes);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const { chromium: driver } = await import("playwright-core");
const browser = await driver.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage();
await page.goto(`http://127.0.0.1:${server.address().port}/`);
const { code, text } = await page.evaluate(async (tests) => {
  const { run } = await import("/wasi.js");
  return run(await (await fetch("/tests.wasm")).arrayBuffer(), ["tests", ...tests, "--test-threads", "1"]);
}, TESTS);
console.log(text);
await browser.close();
server.close();
process.exit(code === 0 && text.includes("test result: ok") ? 0 : 1);
