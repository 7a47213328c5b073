import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Files of the repository that the pages show, under names of their own. */
const samples: Record<string, string> = {
  "all-MiniLM-L6-v2.int8.weights": at("../../models/all-MiniLM-L6-v2.int8.weights"),
  "sample.fifu": at("../../tests/data/finalfusion/fasttext.fifu"),
  "sample.gguf": at("../../tests/data/gguf/blocks.gguf"),
};

/** Puts the samples beside the pages, and the list of all files into the service worker. */
function offline(): Plugin {
  return {
    name: "offline",
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const file = samples[(request.url ?? "").slice(1)];
        if (file) response.end(readFileSync(file));
        else next();
      });
    },
    generateBundle(_, bundle) {
      for (const [fileName, file] of Object.entries(samples)) this.emitFile({ type: "asset", fileName, source: readFileSync(file) });
      // The model is kept by the page that loads it; the rest is kept at the first visit.
      const files = Object.keys(bundle).concat("sample.fifu", "sample.gguf", "icon.svg").filter((name) => !name.endsWith(".weights"));
      const version = [...files].sort().join().split("").reduce((hash, letter) => (Math.imul(hash, 31) + letter.charCodeAt(0)) | 0, 7);
      const source = readFileSync(at("src/offline.js"), "utf8")
        .replace("__FILES__", JSON.stringify(files))
        .replace("__VERSION__", JSON.stringify(`nanoembed-demo-${version >>> 0}`));
      this.emitFile({ type: "asset", fileName: "offline.js", source });
    },
  };
}

export default defineConfig({
  root: at("."),
  base: "./",
  plugins: [offline()],
  resolve: { alias: [
    { find: /^nanoembed$/, replacement: at("../dist/index.js") },
    { find: /^nanoembed\/(\w+)$/, replacement: at("../dist/$1.js") },
  ] },
  worker: { format: "es" },
  build: {
    outDir: "dist", emptyOutDir: true, target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false },
    rollupOptions: { input: ["index.html", "search.html", "inspector.html", "words.html"].map(at) },
  },
});
