// npm run bench:kernels
//
// Rates of the kernels, in Chromium, as lines of JSON: tests/benches/kernels as WebAssembly, made as the modules of the package are.
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, run } from "./chromium.mjs";
import { FAST, wasmOptArguments } from "./wasm-opt.mjs";

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const TARGET = "wasm32-wasip1";

if (!chromium) {
  console.error("There is no Chromium: install it, or set CHROMIUM to where it lies.");
  process.exit(1);
}
execFileSync("rustup", ["target", "add", TARGET], { stdio: "ignore" });
execFileSync("cargo", ["build", "--release", "--locked", "--target", TARGET], {
  cwd: join(here, "bench/kernels"), stdio: ["ignore", "inherit", "inherit"],
  env: { ...process.env, RUSTFLAGS: "-C target-feature=+simd128,+relaxed-simd" },
});
const folder = join(here, `bench/kernels/target/${TARGET}/release`);
const optimized = join(folder, "kernels-optimized.wasm");
execFileSync(process.execPath, wasmOptArguments(join(folder, "kernels.wasm"), optimized, FAST));
const { code, text } = await run(optimized, []);
process.stdout.write(text);
process.exit(code);
