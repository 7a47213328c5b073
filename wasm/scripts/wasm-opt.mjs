// wasm-opt, from npm's binaryen, as the modules of the package go through it.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const program = join(dirname(dirname(fileURLToPath(import.meta.url))), "node_modules/binaryen/bin/wasm-opt");

const FEATURES = ["--enable-simd", "--enable-relaxed-simd", "--enable-bulk-memory", "--enable-sign-ext", "--enable-nontrapping-float-to-int",
  "--enable-mutable-globals", "--enable-reference-types", "--enable-multivalue", "--enable-bulk-memory-opt"];

/**
 * For speed. Functions that are called in one place alone stay functions unless they are small: browsers compile function by
 * function, and one of a whole model's loading takes them longer than to load and to embed a text; gzip finds less in it, too. Data
 * stay in one piece: zeros take less of a compressed file than the headers of the pieces between them. Functions lie by their names:
 * gzip looks back 32 KB, and instances of one generic function are alike.
 */
export const FAST = ["-O3", "--one-caller-inline-max-function-size=60", "--skip-pass=memory-packing", "--reorder-functions-by-name"];
/** For size. */
export const SMALL = ["-Oz", "--converge", "--reorder-functions-by-name"];

/** For a module that nobody waits for as a page is drawn: most of the size, in a third of the time. */
export const QUICK = ["-O1"];

/** The arguments for Node that make the module `to` of the module `from`. */
export function wasmOptArguments(from, to, level) {
  // The first kilobyte is the far end of the stack: sums with small constants may become the offsets that loads and stores have.
  return [program, from, "-o", to, ...level, ...FEATURES, "--low-memory-unused", "--strip-debug", "--strip-producers",
    "--strip-target-features"];
}
