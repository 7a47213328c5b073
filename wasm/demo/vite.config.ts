import { createHash } from "node:crypto";
import { cpSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Files of the repository that the pages show, under names of their own. */
const samples: Record<string, string> = {
  "all-MiniLM-L6-v2.int8.weights": at("../../models/all-MiniLM-L6-v2.int8.weights"),
  "words.fifu": at("words.fifu"),
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
    closeBundle() {
      const out = at("dist");
      for (const [name, file] of Object.entries(samples)) cpSync(file, join(out, name));
      // The model is kept by the page that loads it; the rest is kept at the first visit.
      const isKept = (name: string) => !name.endsWith(".weights") && name !== "offline.js" && statSync(join(out, name)).isFile();
      const files = (readdirSync(out, { recursive: true }) as string[]).filter(isKept).sort();
      const digest = createHash("sha256");
      for (const name of files) digest.update(name).update(readFileSync(join(out, name)));
      const source = readFileSync(at("src/offline.js"), "utf8")
        .replace("__FILES__", JSON.stringify(files))
        .replace("__VERSION__", JSON.stringify(`nanoembed-demo-${digest.digest("hex").slice(0, 12)}`));
      writeFileSync(join(out, "offline.js"), source);
    },
  };
}

export default defineConfig({
  root: at("."),
  base: "./",
  plugins: [offline()],
  resolve: { alias: [
    { find: /^nanoembed$/, replacement: at("../dist/index.js") },
    { find: /^nanoembed\/([\w-]+)$/, replacement: at("../dist/$1.js") },
  ] },
  worker: { format: "es" },
  build: {
    outDir: "dist", emptyOutDir: true, target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false },
    rollupOptions: { input: ["index.html", "search.html", "inspector.html", "words.html", "same.html"].map(at) },
  },
});
