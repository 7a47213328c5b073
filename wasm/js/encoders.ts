/// <reference lib="esnext.disposable" preserve="true" />
import { yieldToPage } from "./event-loop.js";
import type { Engine, Glue, Reader } from "./engine.js";
import { NanoembedError, check, checkNames, guarded } from "./errors.js";
import { Local } from "./local.js";
import type { Platform } from "./platform.js";
import { ranked } from "./ranking.js";
import {
  LocalSentences, checkPrecision, noVectors, prompted, type AnyOptions, type EmbedOptions, type MultiEmbedding, type PartOptions,
  type SentenceModel, type SentenceOptions, type Sentences, type SparseEmbedding,
} from "./sentences.js";

export interface RerankOptions {
  /** Stops between texts. */
  signal?: Platform<"AbortSignal">;
  /** How many tokens of both texts together are used. Default: what the model was trained for. */
  maxTokens?: number;
  /** `precise` computes activations in f32 where the model was made to run in integers. */
  precision?: "default" | "precise";
}

/** What a model says of two texts. */
export interface PairScore {
  /** What it answers, a number for each label. */
  logits: number[];
  /** What becomes of these: from 0 to 1 as a rule. */
  scores: number[];
  /** Whether both texts have more tokens than were used. */
  truncated: boolean;
}

/** A text by its rank. */
export interface Ranked {
  /** Which of the texts it is. */
  index: number;
  score: number;
  logit: number;
}

/**
 * A model that says how well a text answers a question: a cross-encoder, which reads both together, or, loaded with
 * `kind: "reranker"`, one for late interaction such as ColBERT, whose score is MaxSim.
 */
export interface Reranker {
  readonly kind: "reranker";
  /** The names of what it tells apart; models that rank have one. */
  readonly labels: readonly string[];
  /** How many tokens of both texts together are used unless told otherwise. */
  readonly maxTokens: number;
  /** A sentence for each unknown setting that is ignored: see `allowUnknown` of `load`. */
  readonly warnings: readonly string[];

  /**
   * Texts by how well they answer `query`, the best first.
   *
   * ```js
   * const [best] = await model.rerank("Where is Berlin?", ["On a mat.", "It is in Germany."]);
   * ```
   */
  rerank(query: string, texts: readonly string[], options?: RerankOptions): Promise<Ranked[]>;
  /** What the model says of `query` with each of the texts, in their order. */
  score(query: string, texts: readonly string[], options?: RerankOptions): Promise<PairScore[]>;
  /** Frees the model. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** What the module has of an encoder. */
export interface Encoders extends Sentences {
  labels(): string[] | undefined;
  compare(first: string, second: string, limit: number, precise: boolean): Float32Array;
  /** Of the module for folders: */
  warnings?(): string[];
  makes_sparse?(): boolean;
  multi_dims?(): number;
  tells_sides?(): boolean;
  run_sparse?(precise: boolean): Uint32Array;
  embed_multi?(text: string, query: boolean, limit: number, precise: boolean): Float32Array;
  used?(): number;
  token?(id: number): string | undefined;
  max_sim?(query: Float32Array, document: Float32Array): number;
}

/** What that module has of an encoder. */
type AllEncoders = Required<Encoders>;

/** What the module has of a folder on its way in. */
export interface FolderParts {
  put(path: string, text?: string): void;
  allow(name: string): void;
  warnings(): string[];
  wanted(): string | undefined;
  files(): string[];
  push(path: string, reader: Reader): void;
  free(): void;
}

/** What the modules for encoders have. */
export interface EncoderFileGlue extends Glue {
  TextModel: new (reader: Reader, requantize?: boolean) => Encoders;
}

/** What that has which opens folders, too. */
export interface EncoderGlue extends EncoderFileGlue {
  TextModel: EncoderFileGlue["TextModel"] & {
    from_folder(folder: FolderParts): Encoders;
    allowing(reader: Reader, requantize: boolean | undefined, names: string): AllEncoders;
  };
  Folder: new () => FolderParts;
}

/** What a model says of a question and a text. */
type Comparison = (text: string) => PairScore;

/** A cross-encoder in this thread. */
class LocalReranker extends Local<Encoders> implements Reranker {
  readonly kind = "reranker";
  readonly labels: readonly string[];
  readonly maxTokens: number;
  readonly warnings: readonly string[];
  readonly #positions: number;

  constructor(model: Encoders, labels: string[], warnings: readonly string[]) {
    super(model);
    this.labels = labels;
    this.warnings = warnings;
    this.maxTokens = model.max_tokens();
    this.#positions = model.positions();
  }

  async rerank(query: string, texts: readonly string[], options?: RerankOptions): Promise<Ranked[]> {
    return ranked(await this.score(query, texts, options), this.labels);
  }

  async score(query: string, texts: readonly string[], options: RerankOptions = {}): Promise<PairScore[]> {
    const { signal, maxTokens = this.maxTokens, precision, start = 0 } = options as RerankOptions & { start?: number };
    checkNames<keyof RerankOptions | "start">(options, { signal: true, maxTokens: true, precision: true, start: false });
    signal?.throwIfAborted();
    this.open();
    checkPrecision(options);
    check(typeof query === "string" && Array.isArray(texts), "the query must be a string and texts an array");
    check(Number.isInteger(maxTokens) && maxTokens >= 4 && maxTokens <= this.#positions, `maxTokens must be 4 to ${this.#positions}`);
    const compared = this.comparison(query, maxTokens, precision === "precise");
    const found: PairScore[] = [];
    for (const [at, text] of texts.entries()) {
      check(typeof text === "string", `text ${start + at} is of type ${typeof text}, not string`);
      if (at > 0) {
        await yieldToPage();
        signal?.throwIfAborted();
      }
      found.push(guarded(() => compared(text)));
    }
    return found;
  }

  protected comparison(query: string, limit: number, precise: boolean): Comparison {
    return (text) => {
      const model = this.open();
      const both = [...model.compare(query, text, limit, precise)];
      const logits = both.splice(0, both.length / 2);
      return { logits, scores: both, truncated: model.total() > limit };
    };
  }
}

/** A model for late interaction in this thread that compares texts. */
class LateReranker extends LocalReranker {
  protected override comparison(query: string, limit: number, precise: boolean): Comparison {
    const vectors = (text: string, role: "query" | "document") => {
      const model = this.open() as AllEncoders;
      prompted(model, [], { role });
      const data = model.embed_multi(text, role === "query", limit, precise);
      return { data, isCut: model.total() > model.used() };
    };
    let question: ReturnType<typeof vectors> | undefined;
    return (text) => {
      question ??= vectors(query, "query");
      const document = vectors(text, "document");
      const scores = [(this.open() as AllEncoders).max_sim(question.data, document.data)];
      return { logits: scores, scores: [...scores], truncated: question.isCut || document.isCut };
    };
  }
}

/** The options of `embed` for other vectors than dense ones. */
const OTHERS = {
  vectors: true, signal: true, truncate: true, maxTokens: true, prompt: true, promptName: true, precision: true, onProgress: true,
  pieces: true, start: false, role: false,
} as const;

type OtherPart = Omit<PartOptions, "vectors"> & { vectors: "sparse" | "multi"; pieces?: boolean };

/** An encoder in this thread, of any family. */
class LocalEncoder extends LocalSentences {
  override async embed(texts: string | readonly string[], options: AnyOptions = {}): Promise<any> {
    const { vectors = "dense" } = options;
    check(["dense", "sparse", "multi"].includes(vectors), 'vectors must be "dense", "sparse" or "multi"');
    const model = this.open() as Encoders;
    const made = { dense: this.dims > 0, sparse: model.makes_sparse?.(), multi: model.multi_dims?.() };
    if (!made[vectors]) throw noVectors(vectors, Object.keys(made).filter((kind) => made[kind as keyof typeof made]).join(" and "));
    if (vectors === "dense") return super.embed(texts, options);
    if (typeof texts !== "string") return this.#others(texts, options as OtherPart);
    return (await this.#others([texts], options as OtherPart))[0];
  }

  async #others(texts: readonly string[], options: OtherPart): Promise<(SparseEmbedding | MultiEmbedding)[]> {
    const { signal, onProgress, start = 0, vectors, role } = options;
    for (const name of ["truncateDim", "normalize", "out"] as const satisfies (keyof EmbedOptions)[]) {
      check(options[name] === undefined, `${name} is for dense vectors, not for ${vectors} ones`);
    }
    check(vectors === "sparse" || options.pieces === undefined, "pieces is for sparse vectors");
    checkNames<keyof typeof OTHERS>(options, OTHERS);
    signal?.throwIfAborted();
    check(Array.isArray(texts), "texts must be a string or an array");
    check(["end", "error", undefined].includes(options.truncate), 'truncate must be "end" or "error"');
    checkPrecision(options);
    const isTold = vectors === "sparse" || role !== undefined || !(this.open() as AllEncoders).tells_sides();
    check(isTold, "the model makes other vectors of a question than of a text that answers: use embedQuery or embedDocuments");
    const limit = this.limit(options);
    const found: (SparseEmbedding | MultiEmbedding)[] = [];
    for (const [at, text] of texts.entries()) {
      check(typeof text === "string", `text ${start + at} is of type ${typeof text}, not string`);
      if (at > 0) {
        await yieldToPage();
        signal?.throwIfAborted();
      }
      const embedding = guarded(() => this.#other(text, options, limit));
      if (embedding.truncated && options.truncate === "error") {
        throw new NanoembedError("too_many_tokens", `text ${start + at} has more than ${embedding.tokens} tokens`);
      }
      found.push(embedding);
      onProgress?.({ done: at + 1, total: texts.length });
    }
    return found;
  }

  /** The vectors of a text, in one go: the prompt inside the module is that of this call. */
  #other(text: string, options: OtherPart, limit: number): SparseEmbedding | MultiEmbedding {
    const model = this.open() as AllEncoders;
    const { vectors, precision, pieces, role } = options;
    prompted(model, this.prompts, options);
    if (vectors === "multi") {
      const data = model.embed_multi(text, role === "query", limit, precision === "precise");
      const tokens = model.used();
      return { data, dims: model.multi_dims(), tokens, truncated: model.total() > tokens };
    }
    const tokens = model.add(text, limit);
    const truncated = model.total() > tokens;
    // How many weights there are, the tokens, and the weights.
    const { buffer, byteOffset } = model.run_sparse(precision === "precise");
    const [count] = new Uint32Array(buffer, byteOffset, 1);
    const indices = new Uint32Array(buffer, byteOffset + 4, count).slice();
    const values = new Float32Array(buffer, byteOffset + 4 * (1 + count!), count).slice();
    const spelled = pieces ? { pieces: Array.from(indices, (id) => model.token(id) ?? "") } : {};
    return { indices, values, ...spelled, tokens, truncated };
  }

  override async maxSim(query: MultiEmbedding, documents: readonly MultiEmbedding[]): Promise<number[]> {
    const model = this.open() as Encoders;
    const dims = model.multi_dims?.();
    if (!dims) return super.maxSim(query, documents);
    check(Array.isArray(documents), "documents must be an array");
    check([query, ...documents].every((it) => it.dims === dims), `the vectors must have ${dims} elements each`);
    return documents.map(({ data }) => (model as AllEncoders).max_sim(query.data, data));
  }
}

/** What the module made of a file or a folder, as a model: one for late interaction compares texts if that is its `kind`. */
export function wrapped(model: Encoders, warnings: readonly string[], kind?: string): SentenceModel | Reranker {
  const labels = model.labels();
  if (labels) return new LocalReranker(model, labels, warnings);
  return kind === "reranker" && model.multi_dims?.() ? new LateReranker(model, [""], warnings) : new LocalEncoder(model, { warnings });
}

/** The names of the unknown settings that are ignored. */
export function allowed({ allowUnknown = [] }: SentenceOptions): readonly string[] {
  check(Array.isArray(allowUnknown), "allowUnknown must be an array of names");
  return allowUnknown;
}

/** The model of what a reader has read. */
export function loadEncoder(
  engine: Engine<EncoderFileGlue>,
  reader: Reader,
  format: string | undefined,
  options: SentenceOptions,
  kind?: string,
): SentenceModel | Reranker {
  // Files with unknown settings are for the module for folders, which alone passes over them.
  const { TextModel } = engine.glue as EncoderGlue;
  const names = allowed(options);
  const open = () => names.length > 0 && "allowing" in TextModel
    ? TextModel.allowing(reader, options.requantize, names.join("\0"))
    : new TextModel(reader, options.requantize) as Encoders;
  const model = guarded(open, () => format);
  return wrapped(model, model.warnings?.() ?? [], kind);
}
