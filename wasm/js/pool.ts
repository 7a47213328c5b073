/// <reference lib="esnext.disposable" preserve="true" />
// What a page asks of workers that hold models.
import type { Api } from "./api.js";
import type { CausalModel } from "./causal.js";
import { disposeSymbol, unlessUnwanted, warned } from "./dispose.js";
import type { ModuleSource } from "./engine.js";
import type { Reranker } from "./encoders.js";
import { NanoembedError, check, checkNames } from "./errors.js";
import { isFolder, type Folder } from "./folders.js";
import type { FileSummary, InspectOptions, Inspection, Verdict, VerifyOptions } from "./inspection.js";
import { bringNamed, mostBytes } from "./load.js";
import { builtin, isLocal } from "./node.js";
import { checkLoadOptions, MODULES, type LoadOptions, type Model } from "./options.js";
import type { Platform } from "./platform.js";
import { fromPlain, type PlainRequest } from "./protocol.js";
import { Held, RemoteCausal, RemoteReranker, RemoteSentences, RemoteWords, type Described } from "./remote.js";
import type { SentenceModel } from "./sentences.js";
import type { Sink } from "./sink.js";
import { bodyOf, isAddress, type Source } from "./source.js";
import { keptByAll, plain, Thread } from "./thread.js";
import type { WordOptions, WordVectors } from "./words.js";

export interface WorkerOptions {
  /** How many workers. Each holds the model once, unless they share it. Default 1. */
  workers?: number;
  /**
   * Whether several workers share a model that embeds, of a `.weights` or AMB file. Default: where the page is cross-origin
   * isolated, unless `create` or an address of a module for these says otherwise; not in Node. With `create`, `true` says that it
   * makes workers of `nanoembed/shared-thread.js`. Where memory cannot be shared, each worker has a copy.
   */
  share?: boolean;
  /** Makes a worker, where the package's own file cannot be used. */
  create?: () => Platform<"Worker">;
  /**
   * The module for sentence models, where the package's own file cannot be used. A compiled module is shared by all
   * workers.
   */
  module_or_path?: Exclude<ModuleSource, Platform<"Request"> | Platform<"Response">>;
  /** The module for word vectors, likewise. */
  words?: Exclude<ModuleSource, Platform<"Request"> | Platform<"Response">>;
  /** The module for causal models, likewise. */
  causal?: Exclude<ModuleSource, Platform<"Request"> | Platform<"Response">>;
  /** The module for encoders of all families, likewise. */
  encoders?: Exclude<ModuleSource, Platform<"Request"> | Platform<"Response">>;
  /** The module for encoders in `.weights` and AMB files, likewise. */
  weights?: Exclude<ModuleSource, Platform<"Request"> | Platform<"Response">>;
  /** The module for encoders in GGUF files, likewise. */
  gguf?: Exclude<ModuleSource, Platform<"Request"> | Platform<"Response">>;
  /** The module for static models, likewise. */
  static?: Exclude<ModuleSource, Platform<"Request"> | Platform<"Response">>;
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

/** Pieces that may be on their way to a worker before the next is read. */
const IN_FLIGHT = 4;

/** Sends the pieces of a download to all threads. */
export class RemoteSink implements Sink {
  readonly #threads: Thread[];
  #handles: Promise<number>[];
  #sent: Promise<unknown>[] = [];

  constructor(threads: Thread[], options: LoadOptions, isShared?: boolean) {
    this.#threads = threads;
    const args = [mostBytes(options), options.kind, isShared];
    this.#handles = threads.map((thread) => thread.ask<number>("begin", { args }));
    for (const handle of this.#handles) handle.catch(() => {});
  }

  async all<T>(op: string, args: (at: number) => unknown[] = () => [], transfer: (args: unknown[]) => Transferable[] = () => []): Promise<T[]> {
    return Promise.all(
      this.#threads.map(async (thread, at) => {
        const handle = await this.#handles[at]!;
        const own = args(at);
        return thread.ask<T>(op, { handle, args: own, transfer: transfer(own) });
      }),
    );
  }

  async reserve(bytes: number): Promise<void> {
    await this.all("reserve", () => [bytes]);
  }

  async write(piece: Uint8Array): Promise<void> {
    // Now: when the first answer is there, the piece's buffer may hold the next.
    const copies = this.#threads.map(() => piece.slice());
    const sent = this.all("write", (at) => [copies[at]], ([copy]) => [(copy as Uint8Array).buffer as ArrayBuffer]);
    sent.catch(() => {});
    this.#sent.push(sent);
    if (this.#sent.length >= IN_FLIGHT) await this.#sent.shift();
  }

  async finish(): Promise<void> {
    await Promise.all(this.#sent);
    await this.all("finish");
  }

  async bytes(): Promise<Uint8Array> {
    return this.#threads[0]!.ask<Uint8Array>("bytes", { handle: await this.#handles[0]! });
  }

  abort(): void {
    this.all("abort").catch(() => {});
  }

  /** Each thread's model of the file that has arrived. */
  models({ duplicates, requantize, allowUnknown }: LoadOptions): Promise<Described>[] {
    return this.#threads.map(async (thread, at) =>
      thread.ask<Described>("model", { handle: await this.#handles[at]!, args: [{ duplicates, requantize, allowUnknown }] }));
  }
}

/** Addresses count from the page, not from the worker's file; paths of Node are the same there. */
const absolute = (source: Source): unknown =>
  !isAddress(source) ? source : isLocal(source) ? String(source) : new URL(source, globalThis.location?.href).href;

/** A source on its way to a worker, and what goes over with it. */
function sent(source: Source): { source: unknown; transfer: Transferable[] } {
  if (source instanceof Request) {
    const { url, credentials, headers } = source;
    return { source: { url, credentials, headers: [...headers] } satisfies PlainRequest, transfer: [] };
  }
  const stream = source instanceof Response ? bodyOf(source) : source;
  return stream instanceof ReadableStream ? { source: stream, transfer: [stream] } : { source: absolute(source), transfer: [] };
}

/** What workers keep of inspections goes when the page has no use for them. */
const dropped = new FinalizationRegistry<Held>((held) => held.dispose());

class Pool implements WorkerPool {
  readonly #threads: Thread[];
  readonly #isShared: boolean;

  constructor(threads: Thread[], isShared: boolean) {
    this.#threads = threads;
    this.#isShared = isShared;
  }

  get workers(): number {
    return this.#threads.length;
  }

  load(source: Source | Folder, options: LoadOptions & { kind: "sentences" }): Promise<SentenceModel>;
  load(source: Source | Folder, options: LoadOptions & { kind: "reranker" }): Promise<Reranker>;
  load(source: Source, options: LoadOptions & { kind: "words" }): Promise<WordVectors>;
  load(source: Source, options: LoadOptions & { kind: "causal" }): Promise<CausalModel>;
  load(source: Source | Folder, options?: LoadOptions): Promise<Model>;
  async load(source: Source | Folder, options: LoadOptions = {}): Promise<Model> {
    checkLoadOptions(options);
    options.signal?.throwIfAborted();
    if (isFolder(source)) return this.#folder(source, options);
    const remote = (threads: Thread[], isShared?: boolean) => new RemoteSink(threads, options, isShared);
    // Where it cannot be loaded, each worker has a copy.
    const sharing = this.#isShared && (await import("./sharing.js").catch(() => undefined));
    const sink = await bringNamed(source, () => sharing ? new sharing.SharingSink(this.#threads, remote) : remote(this.#threads), options);
    return unlessUnwanted(this.#model(this.#threads, await keptByAll(this.#threads, sink.models(options))), options.signal);
  }

  /** Every worker takes a folder's files for itself: from the browser's cache, if the server allows that. */
  async #folder(folder: Folder, options: LoadOptions): Promise<Model> {
    const { signal, onProgress } = options;
    const source = isAddress(folder) ? absolute(folder) : [...folder];
    const asked = this.#threads.map((thread, at) => {
      // Progress is that of the first.
      const own = at === 0 ? onProgress : undefined;
      return thread.keep<Described>("folder", { args: [source, plain({ ...options, onProgress: own })], signal, onProgress: own });
    });
    return unlessUnwanted(this.#model(this.#threads, await keptByAll(this.#threads, asked)), signal);
  }

  #model(threads: Thread[], described: Described[]): Model {
    const held = new Held(threads, described.map(({ handle }) => handle));
    const first = warned(described[0]!);
    switch (first.kind) {
      case "words":
        return new RemoteWords(held, first);
      case "causal":
        return new RemoteCausal(held, first);
      case "reranker":
        return new RemoteReranker(held, first);
      default:
        return new RemoteSentences(held, first);
    }
  }

  async open(source: Source, options: WordOptions = {}): Promise<WordVectors> {
    const thread = this.#threads[0]!;
    const { signal } = options;
    const { source: file, transfer } = sent(source);
    const described = await thread.keep<Described>("open", { args: [file, plain(options)], signal, transfer });
    return this.#model([thread], [described]) as WordVectors;
  }

  async inspect(source: Source, options: InspectOptions = {}): Promise<Inspection> {
    const thread = this.#threads[0]!;
    const { source: file, transfer } = sent(source);
    const asked = thread.keep<FileSummary & { handle: number }>("inspect", {
      args: [file, plain(options)],
      signal: options.signal,
      transfer,
    });
    const { handle, ...summary } = await asked;
    const held = new Held([thread], [handle]);
    const inspection: Inspection = {
      ...summary,
      values: (name, wanted = {}) => held.call("values", [name], wanted),
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

/** Workers of Node, whose events have names of their own. */
interface NodeThreads {
  Worker: new (code: string | URL, options: { eval: boolean }) => Worker & { on(event: string, hear: (value: any) => void): void };
}

/** A worker of Node, which runs a file or, with `eval`, a text; nothing where workers are those of pages. */
export function nodeWorker(code: string, options = { eval: false }): Worker | undefined {
  if (typeof Worker === "function") return undefined;
  const threads = builtin<NodeThreads>("node:worker_threads");
  check(threads !== undefined, "there are no workers here: say with `create` how to make one");
  if (!options.eval && !builtin<{ existsSync(file: URL): boolean }>("node:fs")!.existsSync(new URL(code))) {
    throw new NanoembedError("worker_failed", `${code} is not there: bundled code takes nanoembed/inline-worker`);
  }
  const worker = new threads.Worker(options.eval ? code : new URL(code), options);
  worker.on("message", (data) => worker.onmessage!({ data } as MessageEvent<unknown>));
  worker.on("error", (error) => worker.onerror!(error));
  return worker;
}

/** A worker whose code is a text. */
export function workerOf(code: string, options?: { type: "module" }): Worker {
  const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const worker = new Worker(address, options);
  // It is read before its first answer.
  worker.addEventListener("message", () => URL.revokeObjectURL(address), { once: true });
  return worker;
}

/** Workers that `start` starts, of which those that share models have other code, or `create` of the options. */
export function createPool(start: (isShared: boolean) => Worker, options: WorkerOptions = {}): WorkerPool {
  checkNames<keyof WorkerOptions>(options, { ...MODULES, workers: true, share: true, create: true });
  const { workers = 1, create, share = globalThis.crossOriginIsolated && !create && !options.weights && !options.module_or_path } = options;
  // Memory can be shared in pages that are isolated, and where there are none.
  const isShared = share && workers > 1 && !!(globalThis.crossOriginIsolated ?? globalThis.SharedArrayBuffer);
  check(Number.isInteger(workers) && workers >= 1, "workers must be a whole number, 1 at least");
  check(create === undefined || typeof create === "function", "create must be a function that makes a worker");
  const threads = Array.from({ length: workers }, () => {
    const thread = new Thread((create ?? start)(isShared));
    thread.watch().catch(() => {});
    for (const name of Object.keys(MODULES) as (keyof typeof MODULES)[]) {
      const module = options[name];
      if (module !== undefined) thread.ask("init", { args: [{ [name]: absolute(module as Source) }] }).catch(() => {});
    }
    return thread;
  });
  return new Pool(threads, isShared);
}
