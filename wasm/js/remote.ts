/** Models that workers hold. */
import type { Model } from "./api.js";
import type { CausalModel, GenerateOptions, Generated, GeneratedToken } from "./causal.js";
import { disposeSymbol } from "./dispose.js";
import type { PairScore, Ranked, RerankOptions, Reranker } from "./encoders.js";
import { NanoembedError, check } from "./errors.js";
import {
  inRows, room, type AnyOptions, type Embedding, type Embeddings, type MultiEmbedding, type PartOptions, type SentenceModel, type StreamOptions,
  type TokenizeOptions, type Tokens,
} from "./sentences.js";
import { plain, type Ask, type Thread } from "./thread.js";
import type { Neighbour, SearchOptions, WordVector, WordVectors } from "./words.js";

/** A model as a worker describes it. */
export interface Described {
  handle: number;
  kind: Model["kind"];
  dims: number;
  maxTokens: number;
  count: number;
  subwords: string;
  vocabulary: number;
  prompts: readonly string[];
  labels: readonly string[];
  warnings: readonly string[];
}

/** One thing that every thread holds, under a handle of its own. */
export class Held {
  #held: { thread: Thread; handle: number }[];
  #isGone = false;

  constructor(threads: Thread[], handles: number[]) {
    this.#held = threads.map((thread, at) => ({ thread, handle: handles[at]! }));
  }

  get size(): number {
    return this.#held.length;
  }

  /** Asks the thread with the least to do. `tell` gets what comes piece by piece. */
  async call<T>(method: string, args: unknown[], options: object, tell?: (piece: never) => void): Promise<T> {
    if (this.#isGone) throw new NanoembedError("disposed", "this was disposed of");
    const least = this.#held.reduce((a, b) => (b.thread.load < a.thread.load ? b : a));
    const { signal, onProgress = tell } = options as Ask;
    return least.thread.ask<T>("call", { handle: least.handle, args: [method, ...args, plain(options)], signal, onProgress });
  }

  dispose(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    for (const { thread, handle } of this.#held) thread.drop(handle);
  }
}

/** What all models in workers have. */
class Remote {
  protected readonly held: Held;
  readonly warnings: readonly string[];

  constructor(held: Held, { warnings }: Described) {
    this.held = held;
    this.warnings = warnings;
  }

  dispose(): void {
    this.held.dispose();
  }

  [disposeSymbol](): void {
    this.dispose();
  }
}

/** A model of texts. */
class RemoteTexts extends Remote {
  readonly maxTokens: number;

  constructor(held: Held, described: Described) {
    super(held, described);
    this.maxTokens = described.maxTokens;
  }

  tokenize(text: string, options: TokenizeOptions = {}): Promise<Tokens> {
    return this.held.call("tokenize", [text], options);
  }
}

export class RemoteSentences extends RemoteTexts implements SentenceModel {
  readonly kind = "sentences";
  readonly dims: number;
  readonly prompts: readonly string[];

  constructor(held: Held, described: Described) {
    super(held, described);
    this.dims = described.dims;
    this.prompts = described.prompts;
  }

  embedQuery(text: string, options?: AnyOptions): Promise<any> {
    return this.embed(text, { ...options, role: "query" } as PartOptions);
  }

  embedDocuments(texts: readonly string[], options?: AnyOptions): Promise<any> {
    return this.embed(texts, { ...options, role: "document" } as PartOptions);
  }

  maxSim(query: MultiEmbedding, documents: readonly MultiEmbedding[]): Promise<number[]> {
    return this.held.call("maxSim", [query, documents], {});
  }

  // Of the type that its options ask for.
  async embed(texts: string | readonly string[], given: AnyOptions = {}): Promise<any> {
    const { out, ...options } = given as PartOptions;
    if (typeof texts === "string") {
      const one = await this.held.call<Embedding>("embed", [texts], options);
      if (!out) return one;
      const data = room(out, one.dims);
      data.set(one.data);
      return { ...one, data };
    }
    const all = await this.#parts(texts, options);
    // Other vectors than dense ones come one by one.
    if (Array.isArray(all[0])) return all.flat();
    const { dims } = all[0]!;
    const data = room(out, texts.length * dims);
    let at = 0;
    for (const part of all) {
      data.set(part.data, at);
      at += part.data.length;
    }
    return inRows(data, dims, all.flatMap((part) => part.tokens), all.flatMap((part) => part.truncated));
  }

  /** The embeddings of all texts in parts. Without texts there is one part all the same: whether the call is right is said there. */
  async #parts(texts: readonly string[], { onProgress, ...options }: PartOptions): Promise<Embeddings[]> {
    check(Array.isArray(texts), "texts must be a string or an array");
    // Small enough that all workers have something to do to the end.
    const size = Math.min(32, Math.max(1, Math.ceil(texts.length / (this.held.size * 4))));
    const count = Math.max(1, Math.ceil(texts.length / size));
    const all: Embeddings[] = [];
    let next = 0;
    let done = 0;
    const failures: { at: number; reason: unknown }[] = [];
    // A worker has one part and the next one: what it was sent it will compute, whatever is said after it.
    const lane = async () => {
      while (next < count) {
        const at = next++;
        const start = at * size;
        const own = texts.slice(start, start + size);
        try {
          all[at] = await this.held.call<Embeddings>("embed", [own], { ...options, start: (options.start ?? 0) + start });
          done += own.length;
          if (done > 0) onProgress?.({ done, total: texts.length });
        } catch (reason) {
          // After an error or an abort nothing more is sent.
          next = count;
          failures.push({ at, reason });
        }
      }
    };
    await Promise.all(Array.from({ length: 2 * this.held.size }, lane));
    // What is wrong with the first text of those that are.
    const [first] = failures.sort((a, b) => a.at - b.at);
    if (first) throw first.reason;
    return all;
  }

  async *embedStream(texts: Iterable<string> | AsyncIterable<string>, options: StreamOptions = {}) {
    const { streamed } = await import("./streamed.js");
    yield* streamed(this, texts, 16 * this.held.size, options);
  }
}

export class RemoteReranker extends Remote implements Reranker {
  readonly kind = "reranker";
  readonly labels: readonly string[];
  readonly maxTokens: number;

  constructor(held: Held, described: Described) {
    super(held, described);
    this.labels = described.labels;
    this.maxTokens = described.maxTokens;
  }

  async rerank(query: string, texts: readonly string[], options?: RerankOptions): Promise<Ranked[]> {
    const scores = await this.score(query, texts, options);
    return (await import("./ranking.js")).ranked(scores, this.labels);
  }

  async score(query: string, texts: readonly string[], options: RerankOptions = {}): Promise<PairScore[]> {
    check(Array.isArray(texts), "texts must be an array");
    const size = Math.max(1, Math.ceil(texts.length / this.held.size));
    const parts = [];
    for (let start = 0; start === 0 || start < texts.length; start += size) {
      parts.push(this.held.call<PairScore[]>("score", [query, texts.slice(start, start + size)], { ...options, start }));
    }
    return (await Promise.all(parts)).flat();
  }
}

export class RemoteWords extends Remote implements WordVectors {
  readonly kind = "words";
  readonly dims: number;
  readonly count: number;
  readonly subwords: string;

  constructor(held: Held, described: Described) {
    super(held, described);
    this.dims = described.dims;
    this.count = described.count;
    this.subwords = described.subwords;
  }

  vector(word: string, options: { signal?: AbortSignal } = {}): Promise<WordVector | undefined> {
    return this.held.call("vector", [word], options);
  }

  similar(query: string | Float32Array, options: SearchOptions = {}): Promise<Neighbour[]> {
    return this.held.call("similar", [query], options);
  }

  analogy(a: string, b: string, c: string, options: SearchOptions = {}): Promise<Neighbour[]> {
    return this.held.call("analogy", [a, b, c], options);
  }

  word(row: number): Promise<string> {
    return this.held.call("word", [row], {});
  }
}

export class RemoteCausal extends RemoteTexts implements CausalModel {
  readonly kind = "causal";
  readonly vocabulary: number;

  constructor(held: Held, described: Described) {
    super(held, described);
    this.vocabulary = described.vocabulary;
  }

  async *generate(prompt: string, options?: GenerateOptions): AsyncGenerator<GeneratedToken, Generated, undefined> {
    const { generated } = await import("./remote-generation.js");
    return yield* generated(this.held, prompt, options);
  }
}
