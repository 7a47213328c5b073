/**
 * Sentence embeddings, word vectors, models that continue texts, and a model file inspector.
 *
 * Nothing happens when this is imported: WebAssembly modules are loaded by the first call that needs them.
 *
 * @module
 */
import { api, type Api } from "./api.js";
import { full } from "./module-full.js";

export * from "./exports.js";

const all: Api = /* @__PURE__ */ api(
  { full, words: () => import("./words.js"), causal: () => import("./continuing.js") },
  () => import("./looking.js"),
);

export const init: Api["init"] = (options) => all.init(options);
export const load: Api["load"] = ((source, options) => all.load(source, options)) as Api["load"];
export const open: Api["open"] = (source, options) => all.open(source, options);
export const inspect: Api["inspect"] = (source, options) => all.inspect(source, options);
export const verify: Api["verify"] = (source, options) => all.verify(source, options);
export const memoryBytes: Api["memoryBytes"] = () => all.memoryBytes();
