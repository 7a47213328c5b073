// Builds the command line for Node, cli/nanoembed.wasm: `npm run build:cli`, some minutes.
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rustFlags } from "./rust-flags.mjs";
import { QUICK, wasmOptArguments } from "./wasm-opt.mjs";

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const root = dirname(here);
const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
const out = join(here, "cli/nanoembed.wasm");

/** Reading a model's structure takes frames of a hundred kilobytes; what is usual beside WebAssembly is one megabyte. */
const STACK_BYTES = 8 << 20;

execFileSync("rustup", ["target", "add", "wasm32-wasip1"], { stdio: "ignore" });
execFileSync("cargo", ["build", "--quiet", "--locked", "-p", "nanoembed-cli", "--bin", "nanoembed", "--no-default-features",
  "--target", "wasm32-wasip1", "--profile", "npm-program"], {
  cwd: root, stdio: "inherit",
  env: { ...process.env, CARGO_TARGET_DIR: target, ...rustFlags(`-C target-feature=+simd128 -C link-arg=-zstack-size=${STACK_BYTES}`) },
});
execFileSync(process.execPath, wasmOptArguments(join(target, "wasm32-wasip1/npm-program/nanoembed.wasm"), out, QUICK), { stdio: "inherit" });
for (const name of ["LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(join(root, name), join(here, "cli", name));
const bytes = readFileSync(out);
console.log(`cli/nanoembed.wasm  ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} gzip`);
