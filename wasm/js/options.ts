// What `init` and `load` take where models of all kinds are loaded: in a page, and for workers.
import type { CausalModel } from "./causal.js";
import type { Reranker } from "./encoders.js";
import type { InitOptions as BaseInitOptions, ModuleSource } from "./engine.js";
import { check } from "./errors.js";
import { checkLoad, type LoadOptions as BaseOptions } from "./load.js";
import type { SentenceModel, SentenceOptions } from "./sentences.js";
import type { WordOptions, WordVectors } from "./words.js";

/** What a file can be loaded as. */
export type Model = SentenceModel | Reranker | WordVectors | CausalModel;

export interface LoadOptions extends BaseOptions, SentenceOptions, Pick<WordOptions, "duplicates"> {
  /** What the file must hold. Without it the file decides, and the result's `kind` says what it was. */
  kind?: Model["kind"];
}

/** The kinds of models. */
const KINDS = { sentences: true, reranker: true, words: true, causal: true } satisfies Record<Model["kind"], true>;

/** Refuses options, and a kind, that are not known. */
export function checkLoadOptions(options: LoadOptions): void {
  checkLoad<Exclude<keyof LoadOptions, keyof BaseOptions>>(options, { kind: true, requantize: true, duplicates: true, allowUnknown: true });
  const { kind } = options;
  check(kind === undefined || Object.hasOwn(KINDS, kind), `there is no kind "${kind}"; the kinds are ${Object.keys(KINDS).join(", ")}`);
}

export interface InitOptions extends Partial<BaseInitOptions> {
  /** The module for word vectors: as `module_or_path`, which is that for sentence models. */
  words?: ModuleSource | Promise<ModuleSource>;
  /** The module for causal models, likewise. */
  causal?: ModuleSource | Promise<ModuleSource>;
  /** The module for encoders of all families, likewise. */
  encoders?: ModuleSource | Promise<ModuleSource>;
  /** The module for encoders in `.weights` and AMB files, likewise. */
  weights?: ModuleSource | Promise<ModuleSource>;
  /** The module for encoders in GGUF files, likewise. */
  gguf?: ModuleSource | Promise<ModuleSource>;
  /** The module for static models, likewise. */
  static?: ModuleSource | Promise<ModuleSource>;
}

/** The options that say where a module is. */
export const MODULES = {
  module_or_path: true, words: true, causal: true, encoders: true, weights: true, gguf: true, static: true,
} satisfies Record<keyof InitOptions, true>;
