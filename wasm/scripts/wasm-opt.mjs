// wasm-opt, from npm's binaryen, as the modules of the package go through it.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const program = join(dirname(dirname(fileURLToPath(import.meta.url))), "node_modules/binaryen/bin/wasm-opt");

const FEATURES = ["--enable-simd", "--enable-relaxed-simd", "--enable-bulk-memory", "--enable-sign-ext", "--enable-nontrapping-float-to-int",
  "--enable-mutable-globals", "--enable-reference-types", "--enable-multivalue", "--enable-bulk-memory-opt"];

/** For speed. By itself it makes one function of a whole model's loading, and of all tiles of a kernel: browsers compile function by
 * function, and such take them longer than to load and to embed a text. */
export const FAST = ["-O3", "--one-caller-inline-max-function-size=300"];
/** For size. */
export const SMALL = ["-Oz", "--converge"];

/** For a module that nobody waits for as a page is drawn: most of the size, in a third of the time. */
export const QUICK = ["-O1"];

/** The arguments for Node that make the module `to` of the module `from`. */
export function wasmOptArguments(from, to, level) {
  // The first kilobyte is the far end of the stack: sums with small constants may become the offsets that loads and stores have.
  return [program, from, "-o", to, ...level, ...FEATURES, "--low-memory-unused", "--strip-debug", "--strip-producers",
    "--strip-target-features"];
}
