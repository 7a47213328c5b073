// Runs core's own kernel tests as WebAssembly: simd128 under Node, relaxed SIMD in Chromium (Node 20 has an early draft of
// it that computes something else).
import { execFileSync, spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, run } from "./chromium.mjs";
import { skipped } from "./skipped.mjs";

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const root = dirname(here);

/** Kernels, their products with blocks, which are tested where activations are quantised for them, and what else has vectors. */
const TESTS = ["kernel", "model::grouped", "crc32"];

/** Every family of models and of weights. Kernels do not know of formats. */
const FEATURES = "families,embd,blocks-ggml,blocks-uqff,scaled-codes";

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

if (!chromium) {
  skipped("kernels, relaxed SIMD", "no Chromium");
  process.exit(0);
}
console.log("kernels, relaxed SIMD, Chromium");
const { code, text } = await run(build("+simd128,+relaxed-simd"), [...TESTS, "--test-threads", "1"]);
console.log(text);
process.exit(code === 0 && text.includes("test result: ok") ? 0 : 1);
