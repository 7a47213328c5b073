/**
 * The API that browsers are to have for embeddings, over a model of yours where they have none: `SemanticEmbedder`, as
 * https://github.com/webmachinelearning/proposals/issues/18 proposes it and as Chrome has it behind a flag.
 *
 * @module
 */
import type { Api, LoadOptions } from "./api.js";
import { yieldToPage } from "./event-loop.js";
import { DownloadMonitor } from "./download-monitor.js";
import { NanoembedError, check, checkNames } from "./errors.js";
import type { Folder } from "./folders.js";
import { load } from "./index.js";
import type { Platform } from "./platform.js";
import type { PartOptions, SentenceModel } from "./sentences.js";
import { SharedModel } from "./shared-model.js";
import { either } from "./signals.js";
import { addressOf, unlessAborted, type Progress, type Source } from "./source.js";

/** Whether an embedder can be made: at once, when something has been downloaded, or not at all. */
export type Availability = "unavailable" | "downloadable" | "downloading" | "available";

/** What vectors are for. */
export type TaskType = "semantic-similarity" | "retrieval-query" | "retrieval-document" | "classification" | "clustering";

export interface EmbedderOptions {
  /** The model: whatever `load` takes. An address can be fetched again; anything else serves once. */
  model: Source | Folder;
  /** Who loads it: a pool of workers, for example. Default: the main entry. */
  loader?: Pick<Api, "load">;
  /** What tells vectors of different models apart. Default: the address of the model. */
  embeddingSpace?: string;
  /** How it is loaded. Default: downloads are kept by the Cache API, where there is one. */
  options?: Pick<LoadOptions, "allowUnknown" | "cache" | "integrity" | "limits" | "requantize" | "retries" | "stall">;
}

export interface CreateOptions {
  /** Gets the target of `downloadprogress` events, whose `loaded` goes from 0 to 1. */
  monitor?: (monitor: Platform<"EventTarget">) => void;
  /** Stops the creation, and later the embedder. */
  signal?: Platform<"AbortSignal">;
}

export interface EmbedderEmbedOptions {
  taskType?: TaskType;
  signal?: Platform<"AbortSignal">;
}

export interface EmbedderResult {
  /** In the order of the texts. */
  embeddings: { values: Float32Array; statistics: { tokenCount: number; truncated: boolean } }[];
  metadata: { embeddingSpace: string; maxInputTokens: number };
}

export interface SemanticEmbedder {
  /** How many tokens of a text are used. */
  readonly inputQuota: number;
  /** The vectors of a text or of several. */
  embed(input: string | readonly string[], options?: EmbedderEmbedOptions): Promise<EmbedderResult>;
  /** How many tokens a text has, or the longest of several. */
  measureInputUsage(input: string | readonly string[], options?: Pick<EmbedderEmbedOptions, "signal">): Promise<number>;
  /** Ends what is under way, and frees the model when no other embedder uses it. */
  destroy(): void;
}

export interface SemanticEmbedderConstructor {
  readonly prototype: SemanticEmbedder;
  availability(options?: object): Promise<Availability>;
  /**
   * Loads the model, if it is not there yet. As with the other APIs of browsers, a page may download one only after somebody has
   * clicked or typed in it.
   */
  create(options?: CreateOptions): Promise<SemanticEmbedder>;
}

/** The names that models have for prompts of tasks other than retrieval, in lower case. */
const PROMPTS: Partial<Record<TaskType, readonly string[]>> = {
  "semantic-similarity": ["sts", "semantic-similarity", "similarity"],
  classification: ["classification"],
  clustering: ["clustering"],
};
const TASKS: readonly string[] = ["retrieval-query", "retrieval-document", ...Object.keys(PROMPTS)];

/** Errors of downloads, which may go well another time. */
const OF_NETWORK = ["connection_lost", "http_status", "missing_file", "source_changed", "timed_out"];

const destroyed = () => new DOMException("The embedder was destroyed.", "AbortError");

/** What WebIDL makes of a string or a sequence of strings. */
function textsOf(input: unknown): string[] {
  const isSequence = typeof input === "object" && input !== null && Symbol.iterator in input;
  return isSequence ? Array.from(input as Iterable<unknown>, String) : [String(input)];
}

/** The options of `embed` for what the vectors are for. */
function promptFor(model: SentenceModel, task: TaskType | undefined): PartOptions {
  if (task === undefined) return {};
  if (!TASKS.includes(task)) throw new TypeError(`"${task}" is no task type: ${TASKS.join(", ")}`);
  if (task === "retrieval-query") return { role: "query" };
  if (task === "retrieval-document") return { role: "document" };
  const promptName = model.prompts.find((name) => PROMPTS[task]!.includes(name.toLowerCase()));
  return promptName === undefined ? {} : { promptName };
}

/** Whether somebody has clicked or typed; outside of windows nobody can. */
const wasActivated = () => globalThis.navigator?.userActivation?.hasBeenActive ?? true;

/** Only `create` makes embedders. */
const key = Symbol("create");

/** A class as browsers are to have it, over a model. */
export function semanticEmbedder(settings: EmbedderOptions): SemanticEmbedderConstructor {
  const { model: source, loader = { load }, embeddingSpace, options = {} } = settings;
  checkNames<keyof EmbedderOptions>(settings, { model: true, loader: true, embeddingSpace: true, options: true });
  checkNames<keyof NonNullable<EmbedderOptions["options"]>>(
    options, { allowUnknown: true, cache: true, integrity: true, limits: true, requantize: true, retries: true, stall: true }, "options.");
  check(source !== undefined, "which model? It is the first thing that is asked of you");
  const given = source as Source;
  /** Where it is fetched from. */
  const address = addressOf(given);
  const keeps = address !== undefined && typeof caches !== "undefined";
  const { cache = keeps ? "cache-api" : false, ...others } = options;
  const shared = new SharedModel<SentenceModel>((hooks) => loader.load(source, { kind: "sentences", ...others, cache, ...hooks }));
  const space = embeddingSpace ?? address ?? "nanoembed";

  async function availability(): Promise<Availability> {
    if (typeof WebAssembly === "undefined") return "unavailable";
    if (shared.state !== "absent") return shared.state === "ready" ? "available" : "downloading";
    if (address === undefined) return "available";
    return cache && (await (await import("./cache.js")).isKept(cache, address)) ? "available" : "downloadable";
  }

  class Embedder implements SemanticEmbedder {
    readonly #model: SentenceModel;
    readonly #end = new AbortController();

    constructor(given: typeof key, model: SentenceModel) {
      if (given !== key) throw new TypeError("Illegal constructor: use SemanticEmbedder.create()");
      this.#model = model;
      this.#end.signal.addEventListener("abort", () => shared.release());
    }

    static availability(_options?: object): Promise<Availability> {
      return availability();
    }

    static async create({ monitor, signal }: CreateOptions = {}): Promise<SemanticEmbedder> {
      signal?.throwIfAborted();
      const told = new DownloadMonitor();
      monitor?.(told);
      const state = await unlessAborted(availability(), signal);
      if (state === "unavailable") throw new DOMException("There is no WebAssembly here.", "NotSupportedError");
      if (state === "downloadable" && !wasActivated()) {
        throw new DOMException("A model may be downloaded only after somebody has clicked or typed in the page.", "NotAllowedError");
      }
      told.tell(0);
      // Who hears of it may stop it.
      await yieldToPage();
      signal?.throwIfAborted();
      const hear = ({ loaded, total }: Progress) => {
        if (!signal?.aborted && total) told.tell(Math.min(loaded / total, 1 - Number.EPSILON));
      };
      const model = await shared.acquire(signal, hear).catch((error) => { throw asDomException(error); });
      told.tell(1);
      await yieldToPage();
      const made = new Embedder(key, model);
      const stop = () => made.#end.abort(signal!.reason);
      if (signal?.aborted) stop();
      signal?.throwIfAborted();
      signal?.addEventListener("abort", stop, { signal: made.#end.signal });
      return made;
    }

    get inputQuota(): number {
      return this.#model.maxTokens;
    }

    async embed(input: string | readonly string[], { taskType, signal }: EmbedderEmbedOptions = {}): Promise<EmbedderResult> {
      const stop = this.#signal(arguments.length, signal);
      const prompt = promptFor(this.#model, taskType);
      const texts = textsOf(input);
      const all = await unlessAborted(this.#model.embed(texts, { ...prompt, signal: stop }), stop);
      const embeddings = texts.map((_, at) => ({
        values: all.rows[at]!.slice(),
        statistics: { tokenCount: all.tokens[at]!, truncated: all.truncated[at]! },
      }));
      return { embeddings, metadata: { embeddingSpace: space, maxInputTokens: this.#model.maxTokens } };
    }

    async measureInputUsage(input: string | readonly string[], { signal }: Pick<EmbedderEmbedOptions, "signal"> = {}): Promise<number> {
      const stop = this.#signal(arguments.length, signal);
      let most = 0;
      for (const text of textsOf(input)) most = Math.max(most, (await unlessAborted(this.#model.tokenize(text), stop)).total);
      return most;
    }

    /** Stops with the embedder, and when the caller says so. */
    #signal(given: number, signal: AbortSignal | undefined): AbortSignal {
      if (given === 0) throw new TypeError("1 argument required, but only 0 present.");
      const own = this.#end.signal;
      own.throwIfAborted();
      signal?.throwIfAborted();
      return either(own, signal);
    }

    destroy(): void {
      this.#end.abort(destroyed());
    }
  }
  Object.defineProperty(Embedder, "name", { value: "SemanticEmbedder" });
  Object.defineProperty(Embedder.prototype, Symbol.toStringTag, { value: "SemanticEmbedder", configurable: true });
  return Embedder as unknown as SemanticEmbedderConstructor;
}

/** What went wrong as the APIs of browsers say it; the error itself is its `cause`. */
function asDomException(error: unknown): unknown {
  if (!(error instanceof NanoembedError)) return error;
  const name = OF_NETWORK.includes(error.code) ? "NetworkError" : "OperationError";
  return Object.defineProperty(new DOMException(error.message, name), "cause", { value: error });
}

/** Puts the class where the browser's would be, if there is none. Returns the one that is there. */
export function install(options: EmbedderOptions): SemanticEmbedderConstructor {
  const place = globalThis as { SemanticEmbedder?: SemanticEmbedderConstructor };
  if (!("SemanticEmbedder" in place)) {
    Object.defineProperty(place, "SemanticEmbedder", { value: semanticEmbedder(options), writable: true, configurable: true });
  }
  return place.SemanticEmbedder!;
}
