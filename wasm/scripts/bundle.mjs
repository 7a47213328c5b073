// The entries, and what they share in chunks that are put together by hand: a page downloads few files, none with much that it
// does not need. What runs in a worker is one file, since some bundlers cannot load parts of workers.
import { existsSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { transform } from "esbuild";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";
import { minify } from "terser";

const chunks = {
  // What every entry needs.
  common: ["errors.ts", "source.ts", "engine.ts", "formats.ts", "dispose.ts", "event-loop.ts", "sink.ts", "node.ts", "vite.ts"],
  failure: ["request-failure.ts", "package-files.ts", "hint.ts"],
  // What the index and folders need.
  signals: ["signals.ts"],
  "local-files": ["local-files.ts"],
  // What all but the inspector need.
  models: ["load.ts", "options.ts", "local.ts", "sentences.ts", "vectors.ts", "folders.ts", "iterators.ts"],
  // What orders texts for models that compare, here and in workers.
  ranking: ["ranking.ts"],
  // What pools of workers that share models need beside pools.
  sharing: ["sharing.ts"],
  // Search in few bits, with its module.
  scan: ["scan.ts", "generated/scan.js"],
  // Search by words, with its module.
  "passage-ranking": ["passage-ranking.ts", "generated/ranking.js"],
  // What kept indices need.
  stores: ["browser-stores.ts", "merging.ts"],
  // What indices in folders need.
  "folder-store": ["folder-store.ts"],
  // What reads parts of files.
  parts: ["parts.ts"],
  words: ["words.ts", "words-entry.ts", "module-slim.ts", "generated/slim.js"],
  causal: ["causal.ts", "causal-entry.ts", "module-causal.ts", "generated/causal.js"],
  // What encoders in files have in common, and those in folders.
  encoders: ["encoders.ts", "generated/encoders.js"],
  folders: ["folder.ts", "encoding.ts", "module-encoders.ts", "generated/folders.js"],
  weights: ["encoding-weights.ts", "module-weights.ts"],
  gguf: ["encoding-gguf.ts", "module-gguf.ts"],
  inspect: ["inspection.ts", "inspect-entry.ts", "module-inspect.ts", "generated/inspect.js"],
};

/** Packages of others, which adapters import and nothing else does. */
const external = [/^@langchain\//, /^@llamaindex\//, /^@lancedb\//, "chromadb"];

const options = { target: "es2022", charset: "utf8" };

const typescript = {
  name: "typescript",
  resolveId(id, from) {
    if (!from || !id.startsWith(".")) return null;
    const path = join(dirname(from), id);
    const source = path.replace(/\.js$/, ".ts");
    return existsSync(source) ? source : path;
  },
  async transform(code, id) {
    if (!id.endsWith(".ts")) return null;
    const tsconfigRaw = { compilerOptions: { verbatimModuleSyntax: true } };
    return (await transform(code, { ...options, loader: "ts", tsconfigRaw })).code;
  },
  async renderChunk(code) {
    const properties = { regex: /^__(wbg_ptr|destroy_into_raw|wrap)$/ };
    // Lines end where statements do: Node prints the whole line that throws.
    const format = { semicolons: false };
    const compress = { passes: 3, inline: 1, keep_fargs: false, pure_getters: true, unsafe_arrows: true, unsafe_methods: true };
    return (await minify(code, { module: true, ecma: 2022, compress, mangle: { properties }, format })).code;
  },
};

async function write(input, output) {
  const result = await rollup({
    input, external, plugins: [typescript], treeshake: { moduleSideEffects: false },
    onwarn({ message }) { throw new Error(message); },
  });
  await result.write({ format: "es", ...output });
  await result.close();
}

/** Writes the entries in the folder `from` to the folder `to`, and `workers`, each in one file. */
export async function bundle(from, to, entries, workers) {
  await write(Object.fromEntries(entries.map((name) => [name, join(from, `${name}.ts`)])), {
    dir: to, chunkFileNames: "chunk-[name]-[hash].js",
    manualChunks(id) {
      const path = relative(from, id).replaceAll("\\", "/");
      return Object.keys(chunks).find((name) => chunks[name].includes(path));
    },
  });
  for (const name of workers) await write(join(from, `${name}.ts`), { file: join(to, `${name}.js`), inlineDynamicImports: true });
}

/** Writes the declarations of an entry in the folder `from` to the folder `to`: what it mentions, and nothing internal. */
export async function bundleTypes(from, to, entry) {
  const result = await rollup({ input: join(from, `${entry}.d.ts`), external, plugins: [dts()], onwarn({ message }) { throw new Error(message); } });
  const { output: [{ code }] } = await result.generate({});
  await result.close();
  // Only at the beginning of a file is it more than a comment.
  const reference = '/// <reference lib="esnext.disposable" preserve="true" />\n';
  const without = code.replaceAll(reference, "");
  writeFileSync(join(to, `${entry}.d.ts`), (code === without ? "" : reference) + without.replaceAll("\n\n\n", "\n"));
}
