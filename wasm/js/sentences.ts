/// <reference lib="esnext.disposable" preserve="true" />
import { yieldToPage } from "./event-loop.js";
import type { Glue, Reader, SentenceReader } from "./engine.js";
import { NanoembedError, check, checkNames, guarded } from "./errors.js";
import { Local } from "./local.js";
import type { Platform } from "./platform.js";

export interface EmbedOptions {
  /** Stops between batches. */
  signal?: Platform<"AbortSignal">;
  /** What becomes of texts with more tokens than the model was trained for: cut (and said so), or refused. Default `end`. */
  truncate?: "end" | "error";
  /** How many tokens of a text are used. Default: what the model was trained for, 256 for all-MiniLM-L6-v2. */
  maxTokens?: number;
  /** Keeps only the first elements, for models trained for it. */
  truncateDim?: number;
  /** Whether vectors are scaled to length 1, whatever the model does itself. Default: if `truncateDim` is given. */
  normalize?: boolean;
  /** Stands before every text. Default: what the model says, if it says anything. */
  prompt?: string;
  /** The model's prompt of this name stands before every text. */
  promptName?: string;
  /** `precise` computes activations in f32 where the model was made to run in integers: slower, and closer. */
  precision?: "default" | "precise";
  /** Where the vectors go; a new array otherwise. */
  out?: Float32Array;
  /** One vector for each text; others are asked for by {@link SparseOptions} and {@link MultiOptions}. */
  vectors?: "dense";
  /** Is told how many of several texts have their vectors. */
  onProgress?: (progress: EmbedProgress) => void;
}

/** The names of these options. */
export const EMBED = {
  signal: true, truncate: true, maxTokens: true, truncateDim: true, normalize: true, prompt: true, promptName: true, precision: true,
  out: true, onProgress: true, vectors: true,
} satisfies Record<keyof EmbedOptions, true>;

/** What is asked of vectors that are not dense. */
export type OtherOptions = Omit<EmbedOptions, "truncateDim" | "normalize" | "out" | "vectors">;

/** Sparse vectors, which models such as SPLADE and BGE-M3 make. */
export interface SparseOptions extends OtherOptions {
  vectors: "sparse";
  /** Whether the tokens themselves come, too. */
  pieces?: boolean;
}

/** A vector for each token, which models for late interaction make, such as ColBERT and BGE-M3. */
export interface MultiOptions extends OtherOptions {
  vectors: "multi";
}

/** A vector most of whose elements are 0: weights for some tokens of the vocabulary. */
export interface SparseEmbedding {
  /** The ids of the tokens, in ascending order. */
  indices: Uint32Array;
  /** Their weights, which are positive. */
  values: Float32Array;
  /** The tokens as the vocabulary spells them, if they were asked for. */
  pieces?: string[];
  /** How many tokens were used, special tokens included. */
  tokens: number;
  /** Whether the text has more. */
  truncated: boolean;
}

/** The vectors of the tokens of a text, each of length 1. */
export interface MultiEmbedding {
  /** One vector after the other. */
  data: Float32Array;
  /** Elements of a vector. */
  dims: number;
  /** How many tokens were used, special tokens included: some may have no vector. */
  tokens: number;
  /** Whether the text has more. */
  truncated: boolean;
}

export interface EmbedProgress {
  done: number;
  total: number;
}

/** How a sentence model is loaded. */
export interface SentenceOptions {
  /**
   * Whether weights are requantised when a file has arrived, to a byte each, beside the file: it takes about as long as a few
   * texts, less where the file says how, as AMB files that `nanoembed convert` writes, and texts are embedded faster from
   * then on. Default: if the file has them in blocks of few bits. Not for folders, nor for `.weights` files of families other
   * than BERT's.
   */
  requantize?: boolean;
  /**
   * Names of unknown settings that are ignored in the texts of a folder, also in those that a file keeps. A model with a setting that
   * no reader knows is refused (`unsupported_setting`), as the setting might change results. With its name here the model loads, and
   * the console is told of each setting that is ignored; `warnings` of the model lists them. Known settings are honoured or refused
   * as ever.
   */
  allowUnknown?: readonly string[];
}

/** The vector of one text. */
export interface Embedding {
  data: Float32Array;
  /** Elements of the vector. */
  dims: number;
  /** How many tokens were used, special tokens included. */
  tokens: number;
  /** Whether the text has more. */
  truncated: boolean;
}

/** The vectors of several texts. */
export interface Embeddings {
  /** One vector after the other. */
  data: Float32Array;
  /** The vector of each text: that of text `i` is `data.subarray(i * dims, (i + 1) * dims)`. */
  rows: Float32Array[];
  /** Elements of a vector. */
  dims: number;
  /** How many tokens of each text were used, special tokens included. */
  tokens: number[];
  /** Which texts have more. */
  truncated: boolean[];
}

/** The vector of one text of a stream. */
export interface StreamedEmbedding extends Embedding {
  /** Which text. */
  index: number;
  text: string;
}

/** Each text comes with its vector, in a place of its own. */
export type StreamOptions = Omit<EmbedOptions, "out" | "onProgress">;

export type TokenizeOptions = Pick<EmbedOptions, "signal" | "maxTokens" | "prompt" | "promptName">;

export interface Tokens {
  ids: Uint32Array;
  /** How many the whole text has. */
  total: number;
  truncated: boolean;
}

/** A sentence model: texts in, vectors out. */
export interface SentenceModel {
  readonly kind: "sentences";
  /** Elements of a vector; 0 if the model makes no dense ones. */
  readonly dims: number;
  /** How many tokens of a text are used unless told otherwise. */
  readonly maxTokens: number;
  /** The names of the prompts that the model has. */
  readonly prompts: readonly string[];
  /** A sentence for each unknown setting that is ignored: see `allowUnknown` of `load`. */
  readonly warnings: readonly string[];

  /** Sparse vectors, or a vector for each token, of models that make them. */
  embed(text: string, options: SparseOptions): Promise<SparseEmbedding>;
  embed(texts: readonly string[], options: SparseOptions): Promise<SparseEmbedding[]>;
  embed(text: string, options: MultiOptions): Promise<MultiEmbedding>;
  embed(texts: readonly string[], options: MultiOptions): Promise<MultiEmbedding[]>;
  /** The vector of a text, or the vectors of several. Most models give them the length 1. */
  embed(text: string, options?: EmbedOptions): Promise<Embedding>;
  embed(texts: readonly string[], options?: EmbedOptions): Promise<Embeddings>;
  embed(texts: string | readonly string[], options?: EmbedOptions): Promise<Embedding | Embeddings>;
  /** The vector of a question, after the prompt that the model has for these. */
  embedQuery(text: string, options?: EmbedOptions): Promise<Embedding>;
  embedQuery(text: string, options: SparseOptions): Promise<SparseEmbedding>;
  embedQuery(text: string, options: MultiOptions): Promise<MultiEmbedding>;
  /** The vectors of texts that answer questions, after the prompt that the model has for these. */
  embedDocuments(texts: readonly string[], options?: EmbedOptions): Promise<Embeddings>;
  embedDocuments(texts: readonly string[], options: SparseOptions): Promise<SparseEmbedding[]>;
  embedDocuments(texts: readonly string[], options: MultiOptions): Promise<MultiEmbedding[]>;
  /**
   * How well documents answer a question by the vectors of their tokens: the sum over those of the question of the largest product
   * with one of the document's.
   */
  maxSim(query: MultiEmbedding, documents: readonly MultiEmbedding[]): Promise<number[]>;
  /** The vectors of any number of texts as they come, in their order. */
  embedStream(
    texts: Iterable<string> | AsyncIterable<string>,
    options?: StreamOptions,
  ): AsyncGenerator<StreamedEmbedding, void, undefined>;
  /** The token ids of a text, special tokens included, cut to `maxTokens` if that is given. */
  tokenize(text: string, options?: TokenizeOptions): Promise<Tokens>;
  /** Frees the model. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** What a module has of a sentence model. */
export interface Sentences {
  dims(): number;
  max_tokens(): number;
  positions(): number;
  tokenize(text: string, limit: number): Uint32Array;
  total(): number;
  add(text: string, limit: number): number;
  clear(): void;
  run(precise: boolean): Float32Array;
  free(): void;
  /** Of the module for all families: */
  least_tokens?(): number;
  prompts?(): string[];
  set_prompt?(before: number, text: string): void;
}

/** What `set_prompt` takes. */
const Before = { Usual: 0, Text: 1, Named: 2, Query: 3, Document: 4 } as const;

export interface SentenceGlue extends Glue {
  Reader: new (purpose: number, strict: boolean, length: number) => SentenceReader;
  TextModel: new (reader: Reader, requantize?: boolean) => Sentences;
}

/** Refuses what is no precision. */
export function checkPrecision({ precision }: Pick<EmbedOptions, "precision">): void {
  check(["default", "precise", undefined].includes(precision), 'precision must be "default" or "precise"');
}

/** Options for some texts of many. */
export interface PartOptions extends EmbedOptions {
  /** Which of all texts the first one is. */
  start?: number;
  /** What the texts are for. */
  role?: "query" | "document";
}

/** Texts of so many tokens together are computed at once, then the page may breathe: that is how long a question waits. */
const BATCH_TOKENS = 128;
/** How many texts of a stream are taken at a time at most. */
const STREAM_TEXTS = 16;

/** Puts a prompt before the texts that come; what it gives the caller has to put there. */
export function prompted(model: Sentences, names: readonly string[], { prompt, promptName, role }: Pick<PartOptions, "prompt" | "promptName" | "role">): string {
  check(prompt === undefined || promptName === undefined, "either prompt or promptName, not both");
  check([prompt, promptName].every((text) => text === undefined || typeof text === "string"), "prompt and promptName must be strings");
  if (!model.set_prompt) {
    // Those that it has are empty.
    check(promptName === undefined || names.includes(promptName), `the model has no prompt "${promptName}"`);
    return prompt ?? "";
  }
  if (prompt !== undefined) model.set_prompt(Before.Text, prompt);
  else if (promptName !== undefined) model.set_prompt(Before.Named, promptName);
  else model.set_prompt(role === "query" ? Before.Query : role === "document" ? Before.Document : Before.Usual, "");
  return "";
}

/** What holds for a model where its module does not say. */
interface Untold {
  /** How many tokens a text may be cut to. */
  least?: number;
  /** The names of its prompts, which are empty. */
  prompts?: readonly string[];
  /** The unknown settings that are ignored. */
  warnings?: readonly string[];
}

/** What `embed` is asked for. */
export type AnyOptions = EmbedOptions | SparseOptions | MultiOptions;

/** The error for vectors that a model does not make. */
export const noVectors = (kind: string, made: string): NanoembedError =>
  new NanoembedError("other_model", `the model makes no ${kind} vectors; it makes ${made} ones`);

/** A sentence model in this thread. */
export class LocalSentences extends Local<Sentences> implements SentenceModel {
  readonly kind = "sentences";
  readonly dims: number;
  readonly maxTokens: number;
  readonly prompts: readonly string[];
  readonly warnings: readonly string[];
  readonly #positions: number;
  readonly #least: number;

  constructor(model: Sentences, { least = 2, prompts = [], warnings = [] }: Untold = {}) {
    super(model);
    this.dims = model.dims();
    this.maxTokens = model.max_tokens();
    this.#positions = model.positions();
    this.#least = model.least_tokens?.() ?? least;
    this.prompts = model.prompts?.() ?? prompts;
    this.warnings = warnings;
  }

  // Of the type that its options ask for.
  async embed(texts: string | readonly string[], options: AnyOptions = {}): Promise<any> {
    const all = await this.#embed(typeof texts === "string" ? [texts] : texts, options as PartOptions);
    if (typeof texts !== "string") return all;
    return { data: all.data, dims: all.dims, tokens: all.tokens[0]!, truncated: all.truncated[0]! };
  }

  embedQuery(text: string, options?: AnyOptions): Promise<any> {
    return this.embed(text, { ...options, role: "query" } as PartOptions);
  }

  embedDocuments(texts: readonly string[], options?: AnyOptions): Promise<any> {
    return this.embed(texts, { ...options, role: "document" } as PartOptions);
  }

  async maxSim(_query: MultiEmbedding, _documents: readonly MultiEmbedding[]): Promise<number[]> {
    throw noVectors("multi", "dense");
  }

  /** Texts of several calls alternate, batch by batch: a question does not wait for what was asked before it. */
  async #embed(texts: readonly string[], options: PartOptions): Promise<Embeddings> {
    const { signal, truncateDim, normalize = truncateDim !== undefined, onProgress, start = 0 } = options;
    checkNames<keyof PartOptions>(options, { ...EMBED, start: false, role: false });
    signal?.throwIfAborted();
    this.open();
    const { vectors: kind = "dense" } = options;
    if (kind !== "dense") throw noVectors(kind, "dense");
    const dims = truncateDim ?? this.dims;
    check(Array.isArray(texts), "texts must be a string or an array");
    check(["end", "error", undefined].includes(options.truncate), 'truncate must be "end" or "error"');
    checkPrecision(options);
    check(["query", "document", undefined].includes(options.role), 'role must be "query" or "document"');
    check(Number.isInteger(dims) && dims >= 1 && dims <= this.dims, `truncateDim must be 1 to ${this.dims}`);
    const limit = this.limit(options);
    const data = room(options.out, texts.length * dims);
    const tokens: number[] = [];
    const truncated: boolean[] = [];
    let next = 0;
    while (next < texts.length) {
      const first = next;
      // In one go: the texts that wait inside the module are those of this call.
      const vectors = guarded(() => {
        const model = this.open();
        let waiting = 0;
        try {
          const prompt = prompted(model, this.prompts, options);
          while (next < texts.length && waiting < BATCH_TOKENS) {
            const text = texts[next];
            check(typeof text === "string", `text ${start + next} is of type ${typeof text}, not string`);
            const used = model.add(prompt + text, limit);
            const isCut = model.total() > used;
            if (isCut && options.truncate === "error") {
              const message = `text ${start + next} has ${model.total()} tokens, more than ${limit}`;
              throw new NanoembedError("too_many_tokens", message);
            }
            tokens.push(used);
            truncated.push(isCut);
            waiting += used;
            next += 1;
          }
          return model.run(options.precision === "precise");
        } catch (error) {
          model.clear();
          throw error;
        }
      });
      place(vectors, this.dims, data, first * dims, dims, normalize);
      onProgress?.({ done: next, total: texts.length });
      if (next < texts.length) {
        await yieldToPage();
        signal?.throwIfAborted();
      }
    }
    return inRows(data, dims, tokens, truncated);
  }

  protected limit(options: { maxTokens?: number }): number {
    const limit = options.maxTokens ?? this.maxTokens;
    check(Number.isInteger(limit) && limit >= this.#least && limit <= this.#positions, `maxTokens must be ${this.#least} to ${this.#positions}`);
    return limit;
  }

  async *embedStream(texts: Iterable<string> | AsyncIterable<string>, options: StreamOptions = {}) {
    const { streamed } = await import("./streamed.js");
    yield* streamed(this, texts, STREAM_TEXTS, options);
  }

  async tokenize(text: string, options: TokenizeOptions = {}): Promise<Tokens> {
    const { signal, maxTokens = 0xffff_ffff } = options;
    checkNames<keyof TokenizeOptions>(options, { signal: true, maxTokens: true, prompt: true, promptName: true });
    signal?.throwIfAborted();
    const model = this.open();
    check(typeof text === "string", "text must be a string");
    check(Number.isInteger(maxTokens) && maxTokens >= this.#least, `maxTokens must be ${this.#least} or more`);
    return guarded(() => {
      const ids = model.tokenize(prompted(model, this.prompts, options) + text, maxTokens);
      const total = model.total();
      return { ids, total, truncated: total > ids.length };
    });
  }
}

/** The sentence model of what a reader has read. */
export function loadSentences(
  engine: { glue: SentenceGlue },
  reader: Reader,
  format: string | undefined,
  options: SentenceOptions,
  untold?: Untold,
): SentenceModel {
  const { TextModel } = engine.glue;
  return new LocalSentences(guarded(() => new TextModel(reader, options.requantize), () => format), untold);
}

/** Where the caller wants so many elements, or a new place for them. */
export function room(out: Float32Array | undefined, elements: number): Float32Array {
  check(!out || out.length >= elements, `out has ${out?.length} elements, ${elements} are needed`);
  return out?.subarray(0, elements) ?? new Float32Array(elements);
}

/** The vectors of several texts, of which each is a part of `data`. */
export const inRows = (data: Float32Array, dims: number, tokens: number[], truncated: boolean[]): Embeddings =>
  ({ data, rows: tokens.map((_, at) => data.subarray(at * dims, (at + 1) * dims)), dims, tokens, truncated });

/** Copies vectors, or the first elements of each, maybe scaled to length 1. */
function place(vectors: Float32Array, from: number, out: Float32Array, start: number, dims: number, scale: boolean): void {
  for (let at = 0; at < vectors.length; at += from) {
    const part = vectors.subarray(at, at + dims);
    let sum = 0;
    for (const value of part) sum += value * value;
    const factor = !scale ? 1 : sum > 0 ? 1 / Math.sqrt(sum) : 0;
    for (const value of part) out[start++] = value * factor;
  }
}
