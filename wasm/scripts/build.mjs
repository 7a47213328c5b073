// Builds the npm package into dist/: `node scripts/build.mjs [wasm] [js]`, both without arguments; names of modules, as
// `nanoembed-slim`, in place of `wasm` build those only.
//
//   cargo        one module for each variant, for wasm32-unknown-unknown
//   wasm-bindgen by ../build, in the version that the modules were compiled with
//   wasm-opt     from npm's binaryen
//   rollup       the entries, with what they share in chunks of their own; terser makes them small
//   tsc          declarations, of which rollup-plugin-dts keeps what the entries mention
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { bundle, bundleTypes } from "./bundle.mjs";
import { declaration, factory } from "./glue.mjs";
import { rustFlags } from "./rust-flags.mjs";
import { FAST, SMALL, wasmOptArguments } from "./wasm-opt.mjs";

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const root = dirname(here);
const out = join(here, "dist");
const targets = join(root, "target");
const generated = join(here, "js", "generated");

/**
 * What functions are put into their callers, unless their own attribute asks for it: smaller ones than usual. Kernels are where
 * attributes put them, what tokenises has `inline` in core where it is compiled for the web, and what reads files is called once.
 */
const INLINE = "-C llvm-args=-inline-threshold=30";

/** In a module that is to be small, also functions whose attribute asks for it only if they are small. */
const INLINE_LESS = `${INLINE} -C llvm-args=-inlinehint-threshold=45`;

/**
 * What makes a module one for threads: its memory is shared and comes from outside, and the linker says how a thread's own part of it
 * is laid out, which wasm-bindgen wants to know. wasm-bindgen keeps state of its own apart for each thread where it may use features
 * of Rust that are not stable.
 */
const THREADS = {
  target: ",+atomics,+bulk-memory,+mutable-globals",
  flags: ["--shared-memory", "--import-memory", "--max-memory=4294967296",
    ...["wasm_init_tls", "tls_size", "tls_align", "tls_base"].map((name) => `--export=__${name}`)].map((flag) => `-C link-arg=${flag}`).join(" "),
  env: { RUSTC_BOOTSTRAP: "wasm_bindgen" },
};

/** The modules: what they can do, the target features, and how they are compiled. One without glue lies as text in the JavaScript. */
const variants = [
  ...[
    { name: "", glue: "sentences", features: "embed", profile: "npm" },
    { name: "-shared", glue: "shared-sentences", features: "embed,shared", profile: "npm", isShared: true },
    { name: "-encoders", glue: "folders", features: "encoder-files", flags: INLINE, profile: "npm-encoders" },
    { name: "-weights", glue: "encoders", features: "encoder-weights", flags: INLINE_LESS, profile: "npm-weights" },
    { name: "-weights-shared", glue: "shared-encoders", features: "encoder-weights,shared", flags: INLINE_LESS, profile: "npm-weights", isShared: true },
    { name: "-gguf", glue: "encoders", features: "encoder-gguf", flags: INLINE, profile: "npm-encoders" },
    { name: "-causal", glue: "causal", features: "causal", profile: "npm" },
  ].flatMap(({ name, ...built }) => (
    [["", "+simd128"], ["-relaxed", "+simd128,+relaxed-simd"]].map(([suffix, target]) => (
      { name: `nanoembed${name}${suffix}`, target, ...built })))),
  { name: "nanoembed-static", glue: "sentences", features: "static", target: "+simd128", flags: INLINE_LESS, profile: "npm-static" },
  { name: "nanoembed-inspect", glue: "inspect", features: "inspect", target: "", profile: "npm-small" },
  { name: "nanoembed-values", glue: "values", features: "values", target: "", profile: "npm-small" },
  { name: "scan", features: "scan", target: "+simd128", flags: "-C link-arg=-zstack-size=4096", profile: "npm-small" },
  { name: "ranking", features: "ranking", target: "", profile: "npm-small" },
  { name: "nanoembed-slim", glue: "slim", features: "words", target: "+simd128", profile: "npm-small" },
];

/** What programs import. Those whose names begin with `inline` are one file each. */
const ENTRIES = [
  "index", "worker", "inspect", "slim", "semantic-embedder", "search-index", "langchain", "llamaindex", "ai-sdk", "orama", "lancedb",
  "chromadb", "inline", "inline-worker",
];

const execute = promisify(execFile);

/** Runs a program beside others; what it says comes in one piece, at its end. */
async function run(program, args, options = {}) {
  const say = ({ stdout, stderr }) => {
    process.stdout.write(stdout);
    process.stderr.write(stderr);
  };
  try {
    say(await execute(program, args, { cwd: root, maxBuffer: 1 << 26, ...options }));
  } catch (error) {
    say(error);
    throw new Error(`${program} ${args.join(" ")}: ${error.code}`);
  }
}

/**
 * Profiles are compiled beside each other: each module is one unit of code, which cargo alone cannot share among cores. What is
 * done with a module when it is compiled does not keep the next one waiting.
 */
async function buildWasm(variants) {
  mkdirSync(out, { recursive: true });
  mkdirSync(generated, { recursive: true });
  const tool = run("cargo", ["build", "--quiet", "--locked", "--manifest-path", "wasm/build/Cargo.toml"]);
  const profiles = [...new Set(variants.map(({ profile }) => profile))];
  const made = await Promise.all(profiles.map(async (profile) => {
    const finished = [];
    for (const variant of variants.filter((one) => one.profile === profile)) {
      const module = await compile(variant);
      finished.push(tool.then(() => finish(variant, module)));
    }
    return Promise.all(finished);
  }));
  writeGlues(made.flat(2));
}

/**
 * Where the module lies that cargo makes of a variant. As a module and nothing else: beside a library cargo does not optimise a
 * program as a whole, with the standard library, which for threads must be compiled anew.
 */
async function compile({ name, features, target, flags = "", profile, isShared }) {
  const threads = isShared ? THREADS : { target: "", flags: "", env: {} };
  const instructions = `${target}${threads.target}`;
  const told = [instructions && `-C target-feature=${instructions}`, flags, threads.flags].filter(Boolean).join(" ");
  await run("cargo", ["rustc", "--crate-type", "cdylib", "--quiet", "--locked", "-p", "nanoembed-wasm",
    "--target", "wasm32-unknown-unknown", "--profile", profile, "--no-default-features", "--features", features],
  { env: { ...process.env, ...threads.env, ...rustFlags(told) } });
  // The next variant takes the same place.
  const folder = join(targets, "npm", name);
  mkdirSync(folder, { recursive: true });
  const module = join(folder, "compiled.wasm");
  copyFileSync(join(targets, "wasm32-unknown-unknown", profile, "nanoembed_wasm.wasm"), module);
  return module;
}

/** Makes the module that is published of a compiled one, and gives its glue. */
async function finish({ name, glue, profile, isShared }, module) {
  const folder = dirname(module);
  if (!glue) {
    const optimized = join(folder, "optimized.wasm");
    await optimize(module, optimized, profile);
    writeFileSync(join(generated, `${name}.js`), `export default "${readFileSync(optimized).toString("base64")}";\n`);
    writeFileSync(join(generated, `${name}.d.ts`), "declare const base64: string;\nexport default base64;\n");
    return [];
  }
  await run(join(here, "build/target/debug/nanoembed-wasm-build"), [module, folder, glue]);
  await optimize(join(folder, `${glue}_bg.wasm`), join(out, `${name}.wasm`), profile, isShared);
  return [{ name, glue, javascript: readFileSync(join(folder, `${glue}.js`), "utf8") }];
}

/** Modules of one kind share their glue. */
function writeGlues(made) {
  const glues = new Map();
  for (const { name, glue, javascript } of made) {
    if (glues.has(glue) && glues.get(glue) !== javascript) {
      throw new Error(`${name} wants another ${glue}.js than the module before it`);
    }
    glues.set(glue, javascript);
    writeFileSync(join(generated, `${glue}.js`), factory(javascript));
    writeFileSync(join(generated, `${glue}.d.ts`), declaration);
  }
}

async function optimize(from, to, profile, isShared) {
  await run(process.execPath, [...wasmOptArguments(from, to, profile === "npm-small" ? SMALL : FAST), ...(isShared ? ["--enable-threads"] : [])]);
  const bytes = readFileSync(to);
  console.log(`${relative(here, to)}  ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} gzip`);
}

async function buildJs() {
  // npm packs what lies in the package's own folder.
  for (const name of ["LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(join(root, name), join(here, name));
  for (const file of readdirSync(out)) {
    if (!file.endsWith(".wasm")) rmSync(join(out, file), { recursive: true });
  }
  await bundle(join(here, "js"), out, ENTRIES.filter((entry) => !entry.startsWith("inline")), ["worker-thread", "shared-thread"]);
  await buildInline();
  await buildTypes();
  for (const file of readdirSync(out)) {
    if (file.endsWith(".js")) {
      const bytes = readFileSync(join(out, file));
      console.log(`dist/${file}  ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} gzip`);
    }
  }
}

/** Everything in one file, the modules as text: for pages that cannot load a second file, and bundlers that do not bring one. */
async function buildInline() {
  const options = { bundle: true, target: "es2022", minify: true, lineLimit: 500, sourcemap: false, absWorkingDir: here, outdir: out, charset: "utf8",
    logLevel: "warning", legalComments: "none", loader: { ".wasm": "binary" } };
  const { outputFiles } = await build({ ...options, entryPoints: ["js/inline-thread.ts"], format: "iife", write: false });
  const thread = { name: "thread", setup(build) {
    build.onResolve({ filter: /^inline-thread$/ }, ({ path }) => ({ path, namespace: "thread" }));
    build.onLoad({ filter: /./, namespace: "thread" }, () => ({ contents: outputFiles[0].text, loader: "text" }));
  } };
  await build({ ...options, entryPoints: ["js/inline.ts", "js/inline-worker.ts"], format: "esm", plugins: [thread] });
}

/** The declarations of the entries, with what they mention and nothing else. */
async function buildTypes() {
  const folder = join(targets, "npm", "types");
  rmSync(folder, { recursive: true, force: true });
  await run(process.execPath, [join(here, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.json", "--outDir", folder], { cwd: here });
  for (const entry of ENTRIES) await bundleTypes(folder, out, entry);
}

const wanted = process.argv.slice(2);
const isWhole = wanted.length === 0 || wanted.includes("wasm");
const chosen = variants.filter(({ name }) => isWhole || wanted.includes(name));
if (isWhole) rmSync(generated, { recursive: true, force: true });
if (chosen.length > 0) await buildWasm(chosen);
if (wanted.length === 0 || wanted.includes("js")) await buildJs();
statSync(out);
