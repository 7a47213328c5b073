/// <reference lib="esnext.disposable" preserve="true" />
import { yieldToPage } from "./event-loop.js";
import type { Engine, Glue, Reader } from "./engine.js";
import { check, checkNames, guarded } from "./errors.js";
import { Local } from "./local.js";
import type { Platform } from "./platform.js";
import { ranked } from "./ranking.js";
import { LocalSentences, checkPrecision, type SentenceModel, type SentenceOptions, type Sentences } from "./sentences.js";

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

/** A cross-encoder: it reads two texts together and says how well the second answers the first. */
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
}

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
  TextModel: EncoderFileGlue["TextModel"] & { of_folder(folder: FolderParts): Encoders };
  Folder: new () => FolderParts;
}

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
    const found: PairScore[] = [];
    for (const [at, text] of texts.entries()) {
      check(typeof text === "string", `text ${start + at} is of type ${typeof text}, not string`);
      if (at > 0) {
        await yieldToPage();
        signal?.throwIfAborted();
      }
      found.push(guarded(() => {
        const model = this.open();
        const both = [...model.compare(query, text, maxTokens, precision === "precise")];
        const logits = both.splice(0, both.length / 2);
        return { logits, scores: both, truncated: model.total() > maxTokens };
      }));
    }
    return found;
  }
}

/** What the module made of a file or a folder, as a model. */
export function wrapped(model: Encoders, warnings: readonly string[] = []): SentenceModel | Reranker {
  const labels = model.labels();
  return labels ? new LocalReranker(model, labels, warnings) : new LocalSentences(model, { warnings });
}

/** The model of what a reader has read. */
export function loadEncoder(
  engine: Engine<EncoderFileGlue>,
  reader: Reader,
  format: string | undefined,
  options: SentenceOptions,
): SentenceModel | Reranker {
  const { TextModel } = engine.glue;
  return wrapped(guarded(() => new TextModel(reader, options.requantize), () => format));
}
