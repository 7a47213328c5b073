/**
 * Sentence embeddings, word vectors, models that continue texts, and a model file inspector.
 *
 * Nothing happens when this is imported: WebAssembly modules are loaded by the first call that needs them.
 *
 * @module
 */
import { api, type Api } from "./api.js";
import { sentences, tables } from "./module-sentences.js";

export * from "./exports.js";

const all: Api = /* @__PURE__ */ api(
  {
    sentences, static: tables, words: () => import("./words-entry.js"), causal: () => import("./causal-entry.js"), encoders: () => import("./encoding.js"),
    weights: () => import("./encoding-weights.js"), gguf: () => import("./encoding-gguf.js"),
  },
  () => import("./inspect-entry.js"),
);

export const init: Api["init"] = all.init;
export const load: Api["load"] = all.load;
export const open: Api["open"] = all.open;
export const inspect: Api["inspect"] = all.inspect;
export const verify: Api["verify"] = all.verify;
export const memoryBytes: Api["memoryBytes"] = all.memoryBytes;
