// Runs a test program that was compiled for wasm32-wasip1, with the arguments that cargo gives it.
// Node calls the interface experimental on every start; that is no news for a test's reader.
import { readFile } from "node:fs/promises";
import { argv, exit } from "node:process";

process.removeAllListeners("warning");
const { WASI } = await import("node:wasi");

const [program, ...args] = argv.slice(2);
const wasi = new WASI({ version: "preview1", args: [program, ...args], returnOnExit: true });
const module = await WebAssembly.compile(await readFile(program));
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
exit(wasi.start(instance));
