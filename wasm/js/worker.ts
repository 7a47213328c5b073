/**
 * The same in workers: the page stays free, and several texts are embedded at once.
 *
 * No headers are needed: workers share nothing but what is sent to them. A download happens once, and its pieces go to
 * every worker.
 *
 * @module
 */
import type { Api, LoadOptions, Model } from "./api.js";
import type { CausalModel, GenerateOptions, Generated, GeneratedToken } from "./causal.js";
import { disposeSymbol } from "./dispose.js";
import type { ModuleSource } from "./engine.js";
import { NanoembedError, check } from "./errors.js";
import type { FileSummary, InspectOptions, Inspection, Verdict, VerifyOptions } from "./inspection.js";
import { bring } from "./load.js";
import { fromPlain, type Answer, type Question } from "./protocol.js";
import {
  type EmbedOptions, type Embedding, type Embeddings, type PartOptions, type SentenceModel, type Tokens,
} from "./sentences.js";
import type { Sink } from "./sink.js";
import { bodyOf, type Source } from "./source.js";
import type { Neighbour, SearchOptions, WordOptions, WordVector, WordVectors } from "./words.js";

export * from "./exports.js";

export interface WorkerOptions {
  /** How many workers. Each holds the model once. Default 1. */
  workers?: number;
  /** Makes a worker, where the package's own file cannot be used. */
  create?: () => Worker;
  /**
   * The module for sentence models, where the package's own file cannot be used. A compiled module is shared by all
   * workers.
   */
  module_or_path?: Exclude<ModuleSource, Request | Response>;
  /** The module for word vectors, likewise. */
  words?: Exclude<ModuleSource, Request | Response>;
  /** The module for causal models, likewise. */
  causal?: Exclude<ModuleSource, Request | Response>;
}

/** Workers that do what the functions of the main entry do. */
export interface WorkerPool extends Pick<Api, "load" | "open" | "inspect" | "verify"> {
  /** How many workers there are. */
  readonly workers: number;
  /** The size of all modules' memory in bytes. */
  memoryBytes(): Promise<number>;
  /** Ends the workers, and with them everything that they hold. */
  dispose(): void;
  [Symbol.dispose](): void;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  onProgress: ((progress: never) => void) | undefined;
}

interface Ask {
  handle?: number;
  args?: unknown[];
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: never) => void) | undefined;
  transfer?: Transferable[];
}

class Thread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #ids = 0;
  #failed: NanoembedError | undefined;

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<Answer>) => this.#hear(data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.end(new NanoembedError("worker_failed", `the worker failed: ${event.message ?? "its file could not be loaded"}`));
    };
  }

  /** How many questions have no answer yet; of a thread that failed nobody should ask anything. */
  get load(): number {
    return this.#failed ? Infinity : this.#waiting.size;
  }

  #hear(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    if (!waiting) return;
    if ("progress" in answer) {
      waiting.onProgress?.(answer.progress as never);
      return;
    }
    this.#waiting.delete(answer.id);
    if ("error" in answer) waiting.reject(fromPlain(answer.error));
    else waiting.resolve(answer.value);
  }

  ask<T>(op: string, { handle, args = [], signal, onProgress, transfer = [] }: Ask = {}): Promise<T> {
    if (this.#failed) return Promise.reject(this.#failed);
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    this.#ids += 1;
    const id = this.#ids;
    return new Promise<T>((resolve, reject) => {
      const stop = () => {
        this.#worker.postMessage({ id, op: "cancel", args: [] } satisfies Question);
        // Whatever comes of it is of no interest any more.
        reject(signal!.reason);
      };
      const settle = () => signal?.removeEventListener("abort", stop);
      this.#waiting.set(id, {
        resolve(value) {
          settle();
          resolve(value as T);
        },
        reject(error) {
          settle();
          reject(error as Error);
        },
        onProgress,
      });
      signal?.addEventListener("abort", stop);
      const question: Question = { id, op, args, ...(handle === undefined ? {} : { handle }) };
      try {
        this.#worker.postMessage(question, transfer);
      } catch (error) {
        this.#waiting.delete(id);
        settle();
        reject(error as Error);
      }
    });
  }

  end(reason: NanoembedError): void {
    this.#failed ??= reason;
    this.#worker.terminate();
    for (const waiting of this.#waiting.values()) waiting.reject(this.#failed);
    this.#waiting.clear();
  }
}

/** What a question carries of options, signals and callbacks being carried otherwise. */
function plain<T extends object>(options: T): Record<string, unknown> {
  const { signal, onProgress, out, ...rest } = options as T & Record<"signal" | "onProgress" | "out", unknown>;
  return { ...rest, wantsProgress: onProgress !== undefined };
}

/** Pieces that may be on their way to a worker before the next is read. */
const IN_FLIGHT = 4;

/** Sends the pieces of a download to all threads. */
class RemoteSink implements Sink {
  readonly #threads: Thread[];
  #handles: Promise<number>[];
  #sent: Promise<unknown>[] = [];

  constructor(threads: Thread[], kind: Model["kind"] | undefined) {
    this.#threads = threads;
    this.#handles = threads.map((thread) => thread.ask<number>("begin", { args: [kind] }));
    for (const handle of this.#handles) handle.catch(() => {});
  }

  async #all<T>(op: string, args: (at: number) => unknown[], transfer: (args: unknown[]) => Transferable[] = () => []): Promise<T[]> {
    return Promise.all(
      this.#threads.map(async (thread, at) => {
        const handle = await this.#handles[at]!;
        const own = args(at);
        return thread.ask<T>(op, { handle, args: own, transfer: transfer(own) });
      }),
    );
  }

  async reserve(bytes: number): Promise<void> {
    await this.#all("reserve", () => [bytes]);
  }

  async write(piece: Uint8Array): Promise<void> {
    // Now: when the first answer is there, the piece's buffer may hold the next.
    const copies = this.#threads.map(() => piece.slice());
    const sent = this.#all("write", (at) => [copies[at]], ([copy]) => [(copy as Uint8Array).buffer as ArrayBuffer]);
    sent.catch(() => {});
    this.#sent.push(sent);
    if (this.#sent.length >= IN_FLIGHT) await this.#sent.shift();
  }

  async finish(): Promise<void> {
    await Promise.all(this.#sent);
    await this.#all("finish", () => []);
  }

  async bytes(): Promise<Uint8Array> {
    return this.#threads[0]!.ask<Uint8Array>("bytes", { handle: await this.#handles[0]! });
  }

  abort(): void {
    this.#all("abort", () => []).catch(() => {});
  }

  models(options: LoadOptions): Promise<Described[]> {
    const { duplicates } = options;
    return this.#all<Described>("model", () => [{ duplicates }]);
  }
}

interface Described {
  handle: number;
  kind: Model["kind"];
  dims: number;
  maxTokens: number;
  count: number;
  subwords: string;
  vocabulary: number;
}

/** One thing that every thread holds, under a handle of its own. */
class Held {
  #held: { thread: Thread; handle: number }[];
  #isGone = false;

  constructor(threads: Thread[], handles: number[]) {
    this.#held = threads.map((thread, at) => ({ thread, handle: handles[at]! }));
  }

  get size(): number {
    return this.#held.length;
  }

  /** Asks the thread with the least to do. */
  call<T>(method: string, args: unknown[], options: object): Promise<T> {
    if (this.#isGone) return Promise.reject(new NanoembedError("disposed", "this was disposed of"));
    const least = this.#held.reduce((a, b) => (b.thread.load < a.thread.load ? b : a));
    const { signal, onProgress } = options as Ask;
    return least.thread.ask<T>("call", { handle: least.handle, args: [method, ...args, plain(options)], signal, onProgress });
  }

  dispose(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    for (const { thread, handle } of this.#held) thread.ask("dispose", { handle }).catch(() => {});
  }
}

/** Where the caller wants so many elements, or a new place for them. */
function room({ out }: EmbedOptions, elements: number): Float32Array {
  check(!out || out.length >= elements, `out has ${out?.length} elements, ${elements} are needed`);
  return out ?? new Float32Array(elements);
}

class RemoteSentences implements SentenceModel {
  readonly kind = "sentences";
  readonly dims: number;
  readonly maxTokens: number;
  readonly #held: Held;

  constructor(held: Held, { dims, maxTokens }: Described) {
    this.#held = held;
    this.dims = dims;
    this.maxTokens = maxTokens;
  }

  embed(text: string, options?: EmbedOptions): Promise<Embedding>;
  embed(texts: readonly string[], options?: EmbedOptions): Promise<Embeddings>;
  async embed(texts: string | readonly string[], options: EmbedOptions = {}): Promise<Embedding | Embeddings> {
    if (typeof texts === "string") {
      const one = await this.#held.call<Embedding>("embed", [texts], options);
      if (!options.out) return one;
      room(options, one.dims).set(one.data);
      return { ...one, data: options.out.subarray(0, one.dims) };
    }
    const all = await this.#parts(texts, options);
    const { dims } = all[0]!;
    const data = room(options, texts.length * dims);
    let at = 0;
    for (const part of all) {
      data.set(part.data, at);
      at += part.data.length;
    }
    const [tokens, truncated] = [all.flatMap((part) => part.tokens), all.flatMap((part) => part.truncated)];
    return { data: data.subarray(0, texts.length * dims), dims, tokens, truncated };
  }

  /** The embeddings of all texts in parts. Without texts there is one part all the same: whether the call is right is said there. */
  async #parts(texts: readonly string[], options: PartOptions): Promise<Embeddings[]> {
    check(Array.isArray(texts), "texts must be a string or an array");
    // Small enough that all workers have something to do to the end.
    const size = Math.min(32, Math.max(1, Math.ceil(texts.length / (this.#held.size * 4))));
    const count = Math.max(1, Math.ceil(texts.length / size));
    const all: Embeddings[] = [];
    let next = 0;
    // A worker has one part and the next one: what it was sent it will compute, whatever is said behind it.
    const lane = async () => {
      while (next < count) {
        const at = next++;
        const start = at * size;
        const part: PartOptions = { ...options, start: (options.start ?? 0) + start };
        all[at] = await this.#held.call<Embeddings>("embed", [texts.slice(start, start + size)], part);
      }
    };
    try {
      await Promise.all(Array.from({ length: 2 * this.#held.size }, lane));
    } finally {
      // After an error or an abort nothing more is sent.
      next = count;
    }
    return all;
  }

  async *embedStream(texts: Iterable<string> | AsyncIterable<string>, options: EmbedOptions = {}) {
    const { streamed } = await import("./streamed.js");
    yield* streamed(this, texts, 16 * this.#held.size, options);
  }

  tokenize(text: string, options: { maxTokens?: number } = {}): Promise<Tokens> {
    return this.#held.call("tokenize", [text], options);
  }

  dispose(): void {
    this.#held.dispose();
  }

  [disposeSymbol](): void {
    this.dispose();
  }
}

class RemoteWords implements WordVectors {
  readonly kind = "words";
  readonly dims: number;
  readonly count: number;
  readonly subwords: string;
  readonly #held: Held;

  constructor(held: Held, { dims, count, subwords }: Described) {
    this.#held = held;
    this.dims = dims;
    this.count = count;
    this.subwords = subwords;
  }

  vector(word: string, options: { signal?: AbortSignal } = {}): Promise<WordVector | undefined> {
    return this.#held.call("vector", [word], options);
  }

  similar(query: string | Float32Array, options: SearchOptions = {}): Promise<Neighbour[]> {
    return this.#held.call("similar", [query], options);
  }

  analogy(a: string, b: string, c: string, options: SearchOptions = {}): Promise<Neighbour[]> {
    return this.#held.call("analogy", [a, b, c], options);
  }

  word(row: number): Promise<string> {
    return this.#held.call("word", [row], {});
  }

  dispose(): void {
    this.#held.dispose();
  }

  [disposeSymbol](): void {
    this.dispose();
  }
}

class RemoteCausal implements CausalModel {
  readonly kind = "causal";
  readonly vocabulary: number;
  readonly maxTokens: number;
  readonly #held: Held;

  constructor(held: Held, { vocabulary, maxTokens }: Described) {
    this.#held = held;
    this.vocabulary = vocabulary;
    this.maxTokens = maxTokens;
  }

  async *generate(prompt: string, options: GenerateOptions = {}): AsyncGenerator<GeneratedToken, Generated, undefined> {
    const waiting: GeneratedToken[] = [];
    let wake = () => {};
    const tell = (token: GeneratedToken) => {
      waiting.push(token);
      wake();
    };
    // Whoever stops to iterate stops the worker, too.
    const stop = new AbortController();
    const pass = () => stop.abort(options.signal?.reason);
    if (options.signal?.aborted) pass();
    options.signal?.addEventListener("abort", pass);
    let isOver = false;
    const asked = this.#held.call<Generated>("generate", [prompt], { ...options, signal: stop.signal, onProgress: tell });
    const settled = () => {
      isOver = true;
      wake();
    };
    asked.then(settled, settled);
    try {
      for (;;) {
        const token = waiting.shift();
        if (token) yield token;
        else if (isOver) return await asked;
        else await new Promise<void>((resolve) => (wake = resolve));
        options.signal?.throwIfAborted();
      }
    } finally {
      options.signal?.removeEventListener("abort", pass);
      if (!isOver) stop.abort();
    }
  }

  tokenize(text: string, options: { maxTokens?: number } = {}): Promise<Tokens> {
    return this.#held.call("tokenize", [text], options);
  }

  dispose(): void {
    this.#held.dispose();
  }

  [disposeSymbol](): void {
    this.dispose();
  }
}

/** Addresses count from the page, not from the worker's file. */
const absolute = (source: Source): unknown =>
  typeof source === "string" || source instanceof URL ? new URL(source, globalThis.location?.href).href : source;

/** A source on its way to a worker, and what goes over with it. */
function sent(source: Source): { source: unknown; transfer: Transferable[] } {
  if (source instanceof Request) return { source: source.url, transfer: [] };
  const stream = source instanceof Response ? bodyOf(source) : source;
  return stream instanceof ReadableStream ? { source: stream, transfer: [stream] } : { source: absolute(source), transfer: [] };
}

/** What workers keep of inspections goes when the page has no use for them. */
const dropped = new FinalizationRegistry<Held>((held) => held.dispose());

class Pool implements WorkerPool {
  readonly #threads: Thread[];

  constructor(threads: Thread[]) {
    this.#threads = threads;
  }

  get workers(): number {
    return this.#threads.length;
  }

  load(source: Source, options: LoadOptions & { kind: "sentences" }): Promise<SentenceModel>;
  load(source: Source, options: LoadOptions & { kind: "words" }): Promise<WordVectors>;
  load(source: Source, options: LoadOptions & { kind: "causal" }): Promise<CausalModel>;
  load(source: Source, options?: LoadOptions): Promise<Model>;
  async load(source: Source, options: LoadOptions = {}): Promise<Model> {
    options.signal?.throwIfAborted();
    const sink = await bring(source, () => new RemoteSink(this.#threads, options.kind), options);
    const described = await sink.models(options);
    return this.#model(this.#threads, described);
  }

  #model(threads: Thread[], described: Described[]): Model {
    const held = new Held(threads, described.map(({ handle }) => handle));
    const first = described[0]!;
    switch (first.kind) {
      case "words":
        return new RemoteWords(held, first);
      case "causal":
        return new RemoteCausal(held, first);
      default:
        return new RemoteSentences(held, first);
    }
  }

  async open(source: Source, options: WordOptions = {}): Promise<WordVectors> {
    const thread = this.#threads[0]!;
    const { signal } = options;
    const { source: file, transfer } = sent(source);
    const described = await thread.ask<Described>("open", { args: [file, plain(options)], signal, transfer });
    return this.#model([thread], [described]) as WordVectors;
  }

  async inspect(source: Source, options: InspectOptions = {}): Promise<Inspection> {
    const thread = this.#threads[0]!;
    const { source: file, transfer } = sent(source);
    const asked = thread.ask<FileSummary & { handle: number }>("inspect", {
      args: [file, plain(options)],
      signal: options.signal,
      transfer,
    });
    const { handle, ...summary } = await asked;
    const held = new Held([thread], [handle]);
    const inspection: Inspection = {
      ...summary,
      values: (name, wanted = {}) => held.call("values", [name, rest(wanted)], { signal: wanted.signal }),
    };
    dropped.register(inspection.values, held);
    return inspection;
  }

  async verify(source: Source, options: VerifyOptions = {}): Promise<Verdict> {
    const { signal, onProgress } = options;
    const { source: file, transfer } = sent(source);
    const args = [file, plain(options)];
    const verdict = await this.#threads[0]!.ask<Verdict>("verify", { args, signal, onProgress, transfer });
    return verdict.ok ? verdict : { ...verdict, error: fromPlain(verdict.error) as NanoembedError };
  }

  async memoryBytes(): Promise<number> {
    const sizes = await Promise.all(this.#threads.map((thread) => thread.ask<number>("memory")));
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  dispose(): void {
    for (const thread of this.#threads) thread.end(new NanoembedError("disposed", "the workers were disposed of"));
  }

  [disposeSymbol](): void {
    this.dispose();
  }
}

function rest({ first, count }: { first?: number; count?: number }) {
  return { ...(first === undefined ? {} : { first }), ...(count === undefined ? {} : { count }) };
}

/** Starts workers. Their file is loaded now, the module when something is first asked of them. */
export function createWorker(options: WorkerOptions = {}): WorkerPool {
  const { workers = 1, create, module_or_path, words, causal } = options;
  check(Number.isInteger(workers) && workers >= 1, "there must be at least one worker");
  check(create !== undefined || typeof Worker === "function", "there are no workers here: say with `create` how to make one");
  const threads = Array.from({ length: workers }, () => {
    const worker = create ? create() : new Worker(new URL("./worker-thread.js", import.meta.url), { type: "module" });
    const thread = new Thread(worker);
    const modules = { module_or_path, words, causal };
    for (const [name, module] of Object.entries(modules)) {
      if (module !== undefined) thread.ask("init", { args: [{ [name]: absolute(module as Source) }] }).catch(() => {});
    }
    return thread;
  });
  return new Pool(threads);
}
