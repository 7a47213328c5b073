// What a user downloads, gzip. JavaScript is counted as an entry's file with all that it imports at once; what it imports when
// it is asked for (`import(…)`) has limits of its own.
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";

/** A file of dist/ and what it imports. */
function closure(entry, seen = new Set()) {
  const path = join("dist", entry);
  if (seen.has(path)) return [...seen];
  seen.add(path);
  const text = readFileSync(new URL(path, import.meta.url), "utf8");
  for (const [, from] of text.matchAll(/(?:^|[;\n}])(?:import|export)(?:[\w*{}$,\s]+from)?"\.\/([^"]+\.js)"/g)) {
    closure(join(dirname(entry), from), seen);
  }
  return [...seen];
}

/** What is loaded when it is asked for. */
const chunk = (name) => `dist/${readdirSync(new URL("dist", import.meta.url)).find((file) => file.startsWith(`chunk-${name}-`))}`;

const limits = (entries) => entries.map(([name, limit, path]) => ({ name, limit, path, gzip: true, brotli: false }));
const wasm = (name) => `dist/nanoembed${name}.wasm`;
const inspector = closure("inspect.js");

export default limits([
  ["wasm, sentence models", "130.3 KB", wasm("")],
  ["wasm, sentence models, relaxed SIMD", "141.1 KB", wasm("-relaxed")],
  ["wasm, sentence models for workers that share one", "132.5 KB", wasm("-shared")],
  ["wasm, sentence models for workers that share one, relaxed SIMD", "143.1 KB", wasm("-shared-relaxed")],
  ["wasm, static models", "64.3 KB", wasm("-static")],
  ["wasm, encoders of all families", "459.7 KB", wasm("-encoders")],
  ["wasm, encoders of all families, relaxed SIMD", "471.1 KB", wasm("-encoders-relaxed")],
  ["wasm, encoders in .weights and AMB files", "248.4 KB", wasm("-weights")],
  ["wasm, encoders in .weights and AMB files, relaxed SIMD", "259 KB", wasm("-weights-relaxed")],
  ["wasm, the same for workers that share a model", "251.3 KB", wasm("-weights-shared")],
  ["wasm, the same for workers that share a model, relaxed SIMD", "262.2 KB", wasm("-weights-shared-relaxed")],
  ["wasm, encoders in GGUF files", "366.9 KB", wasm("-gguf")],
  ["wasm, encoders in GGUF files, relaxed SIMD", "381.3 KB", wasm("-gguf-relaxed")],
  ["wasm, causal models", "150.7 KB", wasm("-causal")],
  ["wasm, causal models, relaxed SIMD", "165.3 KB", wasm("-causal-relaxed")],
  ["wasm, word vectors", "41 KB", wasm("-slim")],
  ["wasm, inspector", "46 KB", wasm("-inspect")],
  ["wasm, dequantising (when numbers are asked for)", "39.2 KB", wasm("-values")],
  ["JavaScript, main entry", "11.51 KB", closure("index.js")],
  ["JavaScript, inspector", "9.2 KB", inspector],
  ["JavaScript, word vectors only", "13.3 KB", closure("slim.js")],
  ["JavaScript, SemanticEmbedder beside the main entry", "2.5 KB", ["dist/semantic-embedder.js"]],
  ["JavaScript, worker entry, in the page", "12.4 KB", closure("worker.js")],
  ["JavaScript, in a worker", "23.8 KB", closure("worker-thread.js")],
  ["JavaScript, in a worker that shares models", "25.3 KB", closure("shared-thread.js")],
  ["JavaScript, what a pool of such workers needs in the page", "1 KB", chunk("sharing")],
  ["JavaScript, search index beside the main entry", "11 KB", ["dist/search-index.js", chunk("scan")]],
  ["JavaScript, what a kept index needs beside them", "2 KB", chunk("stores")],
  ["JavaScript with its module, search by words", "65.5 KB", chunk("passage-ranking")],
  ["JavaScript with its module, search in few bits", "2.7 KB", chunk("scan")],
]);
