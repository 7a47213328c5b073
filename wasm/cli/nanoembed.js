#!/usr/bin/env node
// The program `nanoembed`, compiled to WebAssembly, over the files of this machine.
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { parse, relative, sep } from "node:path";
import process from "node:process";

// Node calls this interface experimental on every start; that is no news for somebody who converts a model.
process.removeAllListeners("warning");
const { WASI } = await import("node:wasi");

const folder = process.cwd();
const { root } = parse(folder);
/** What the program calls a folder. */
const inside = (path) => `/${relative(root, path).split(sep).join("/")}`;

const wasi = new WASI({
  version: "preview1",
  args: ["nanoembed", ...process.argv.slice(2)],
  // Its unfinished files carry the number of a process that can be looked for.
  env: { ...process.env, PWD: inside(folder), TMPDIR: inside(tmpdir()), NANOEMBED_PROCESS: String(process.pid) },
  preopens: { "/": root },
  returnOnExit: true,
});
const module = await WebAssembly.compile(await readFile(new URL("nanoembed.wasm", import.meta.url)));
// V8 calls what is not JavaScript without keeping track of its own memory: with Node 20 the next collection crashes.
const calls = Object.entries(wasi.wasiImport).map(([name, call]) => [name, (...args) => call(...args)]);
process.exitCode = wasi.start(await WebAssembly.instantiate(module, { wasi_snapshot_preview1: Object.fromEntries(calls) }));
