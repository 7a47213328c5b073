// What the entries `.` and `./inline` have in common: the same functions over modules from different places.
import type { CausalModel } from "./causal.js";
import { unlessUnwanted, warned } from "./dispose.js";
import { memoryBytes } from "./engine.js";
import type { Reranker } from "./encoders.js";
import { checkNames } from "./errors.js";
import { isFolder, type Folder } from "./folders.js";
import type { InspectOptions, Inspection, Verdict, VerifyOptions } from "./inspection.js";
import { bringNamed, mostBytes } from "./load.js";
import { ModelSink, engineOf, ofKind, type ModuleName, type Runners } from "./model-sink.js";
import { checkLoadOptions, MODULES, type InitOptions, type LoadOptions, type Model } from "./options.js";
import type { SentenceModel } from "./sentences.js";
import { addressOf, type Source } from "./source.js";
import type { WordOptions, WordVectors } from "./words.js";

export type { InitOptions, LoadOptions, Model } from "./options.js";

export interface Api {
  /**
   * Loads the module for sentence models now, or modules from elsewhere than the package's own files. Otherwise the first
   * call that needs one does. That of `inspect` and `verify` is `init` of `nanoembed/inspect`.
   */
  init(options?: InitOptions): Promise<void>;
  /**
   * Loads a model: its bytes are looked at as they arrive, and lie once in memory. The format is told by the bytes.
   *
   * An address that ends with `/`, or the files of a folder that somebody has picked, are a Hugging Face folder: settings,
   * tokenizer and weights are taken from it as they lie there.
   */
  load(source: Source | Folder, options: LoadOptions & { kind: "sentences" }): Promise<SentenceModel>;
  load(source: Source | Folder, options: LoadOptions & { kind: "reranker" }): Promise<Reranker>;
  load(source: Source, options: LoadOptions & { kind: "words" }): Promise<WordVectors>;
  load(source: Source, options: LoadOptions & { kind: "causal" }): Promise<CausalModel>;
  load(source: Source | Folder, options?: LoadOptions): Promise<Model>;
  /** Opens word vectors in a file that stays where it is: a `Blob`, or an address whose server answers range requests. */
  open(source: Source, options?: WordOptions): Promise<WordVectors>;
  /** Reads header and index of a file in any format that is known here, and nothing else. */
  inspect(source: Source, options?: InspectOptions): Promise<Inspection>;
  /** Looks at every byte of a file: structure, bounds, checksums. */
  verify(source: Source, options?: VerifyOptions): Promise<Verdict>;
  /** The size of the memory of all modules that were loaded, those of the other entries included, in bytes. */
  memoryBytes(): number;
}

/** Loads the modules that `options` names; without any, that for sentence models. */
export async function init(runners: Runners, options: InitOptions = {}): Promise<void> {
  checkNames(options, MODULES);
  const named = Object.entries({ sentences: options.module_or_path, ...options }) as [ModuleName, InitOptions["words"]][];
  const given = named.filter(([name, module]) => name in runners && module !== undefined);
  if (!given[0]) await runners.sentences.ready();
  for (const [name, module_or_path] of given) await (await engineOf(runners, name)).ready({ module_or_path: module_or_path! });
}

/** The model in a folder. */
export async function folderOf(runners: Runners, folder: Folder, options: LoadOptions): Promise<SentenceModel | Reranker> {
  const { engine, loadFolder } = await runners.encoders();
  return unlessUnwanted(ofKind(options.kind, await loadFolder(engine, folder, options)), options.signal);
}

/** What only looks at files. */
export type Inspecting = Pick<Api, "inspect" | "verify">;

/** Files of static models, as these are called: their module is chosen when their first bytes are there. */
const NAMES_OF_STATIC = /(static|potion|model2vec|m2v)[^/]*$/i;

/** Models come from `runners`; what only looks at files is loaded, code and module, when it is asked for. */
export function api(runners: Runners, inspecting: () => Promise<Inspecting>): Api {
  async function load(source: Source | Folder, options: LoadOptions = {}) {
    checkLoadOptions(options);
    options.signal?.throwIfAborted();
    if (isFolder(source)) return warned(await folderOf(runners, source, options));
    const { kind } = options;
    // It takes as long as the file's first bytes. What is wrong with it is said when those are there.
    const module = kind === "reranker" ? "encoders" : kind;
    const isStatic = module === "sentences" && NAMES_OF_STATIC.test(String(addressOf(source)));
    if (module && !isStatic) void engineOf(runners, module).then((engine) => engine.ready()).catch(() => {});
    const sink = await bringNamed(source, () => new ModelSink(runners, mostBytes(options), kind), options);
    return warned(unlessUnwanted(await sink.model(options), options.signal));
  }
  return {
    init: (options) => init(runners, options),
    load: load as Api["load"],
    async open(source, options) {
      const { engine, openWith } = await runners.words();
      return openWith(engine, source, options);
    },
    inspect: async (source, options) => (await inspecting()).inspect(source, options),
    verify: async (source, options) => (await inspecting()).verify(source, options),
    memoryBytes,
  };
}
