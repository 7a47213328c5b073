// What runs in a worker: the same functions as in a page, asked for by messages.
import { folderOf, init, type InitOptions, type LoadOptions, type Model } from "./api.js";
import { memoryBytes } from "./engine.js";
import type { Folder } from "./folders.js";
import { inspectWith, verifyWith, type InspectOptions, type Inspection } from "./inspection.js";
import { ModelSink } from "./model-sink.js";
import { builtin } from "./node.js";
import { runnersOf, type Modules } from "./modules.js";
import { toPlain, type Answer, type PlainRequest, type Question } from "./protocol.js";
import type { Source } from "./source.js";
import { openWith, type WordOptions } from "./words.js";

interface Scope {
  onmessage: ((event: MessageEvent<Question>) => void) | null;
  postMessage(message: Answer, transfer: Transferable[]): void;
}
/** In Node a port speaks to the page. */
const scope = ("postMessage" in globalThis ? globalThis : builtin<{ parentPort: unknown }>("node:worker_threads")!.parentPort) as Scope;

/** Files that arrive, and what was last asked of each. */
const sinks = new Map<number, { sink: ModelSink; turn: Promise<unknown> }>();
export const things = new Map<number, Model | Inspection>();
const running = new Map<number, AbortController>();
/** Of each model, what is settled when no part of many texts is being computed any more. */
const parts = new Map<number, Promise<unknown>>();
let handles = 0;

function keep(thing: Model | Inspection): number {
  handles += 1;
  things.set(handles, thing);
  return handles;
}

/** What a page needs to know of a model. */
export function describe(model: Model): Record<string, unknown> {
  const handle = keep(model);
  switch (model.kind) {
    case "words":
      return { handle, kind: model.kind, dims: model.dims, count: model.count, subwords: model.subwords };
    case "causal":
      return { handle, kind: model.kind, vocabulary: model.vocabulary, maxTokens: model.maxTokens };
    case "reranker":
      return { handle, kind: model.kind, labels: model.labels, maxTokens: model.maxTokens, warnings: model.warnings };
    default:
      return { handle, kind: model.kind, dims: model.dims, maxTokens: model.maxTokens, prompts: model.prompts, warnings: model.warnings };
  }
}

/** One thing after the other is done to a sink: its first bytes wait for a module. */
export function inTurn(handle: number, run: (sink: ModelSink) => unknown): Promise<unknown> {
  const held = sinks.get(handle)!;
  held.turn = held.turn.then(() => run(held.sink));
  return held.turn;
}

/** Begins to take a file in; returns its handle. */
export function begin(sink: ModelSink): number {
  handles += 1;
  sinks.set(handles, { sink, turn: Promise.resolve() });
  return handles;
}

/** Parts wait for each other: a question has the next turn, not the one after all of them. */
function inParts(handle: number, run: () => unknown): Promise<unknown> {
  const part = (parts.get(handle) ?? Promise.resolve()).then(run);
  parts.set(handle, part.catch(() => {}));
  return part;
}

/** Tells what comes piece by piece, and gives what is returned at the end. */
async function drained(pieces: AsyncGenerator<unknown, unknown>, tell: Tell): Promise<unknown> {
  for (;;) {
    const { done, value } = await pieces.next();
    if (done) return value;
    tell(value);
  }
}

/** A source as the page had it. */
function arrived(source: unknown): Source {
  // One by one: of bytes, the rest would be all of them.
  const { url, credentials, headers } = (source ?? {}) as PlainRequest;
  return credentials === undefined ? (source as Source) : new Request(url, { credentials, headers });
}

type Tell = (piece: unknown) => void;

type Options = Record<string, unknown> & { signal: AbortSignal; onProgress?: Tell };

/** The answer to a question. `tell` says what comes of it before. */
export type Answering = (question: Question, options: Options, tell: Tell) => unknown;

/** The answers to questions, by what they ask. */
function answering(modules: Modules): Record<string, Answering> {
  const runners = runnersOf(modules);
  return {
    init: ({ args: [options] }) => init(runners, options as InitOptions),
    /** Takes a lock that is not given back before the worker ends. */
    hold: ({ args: [name] }) => new Promise<void>((held) => {
      void navigator.locks.request(name as string, () => {
        held();
        return new Promise(() => {});
      });
    }),
    begin: ({ args: [most, kind] }) => begin(new ModelSink(runners, most as number, kind as Model["kind"] | undefined)),
    shares: () => false,
    reserve: ({ handle, args: [bytes] }) => inTurn(handle!, (sink) => sink.reserve(bytes as number)),
    write: ({ handle, args: [piece] }) => inTurn(handle!, (sink) => sink.write(piece as Uint8Array)),
    finish: ({ handle }) => inTurn(handle!, (sink) => sink.finish()),
    bytes: ({ handle }) => inTurn(handle!, (sink) => sink.bytes().slice()),
    abort({ handle }) {
      sinks.get(handle!)?.sink.abort();
      sinks.delete(handle!);
    },
    async model({ handle, args: [options] }) {
      const { sink } = sinks.get(handle!)!;
      sinks.delete(handle!);
      return describe(await sink.model(options as LoadOptions));
    },
    folder: async ({ args: [folder] }, options) => describe(await folderOf(runners, folder as Folder, options)),
    open: async ({ args: [source] }, options) => describe(await openWith(modules.words, arrived(source), options as WordOptions)),
    async inspect({ args: [source] }, options) {
      const inspection = await inspectWith(modules.inspector, () => modules.values.ready(), arrived(source), options as InspectOptions);
      const { values: _, ...summary } = inspection;
      return { ...summary, handle: keep(inspection) };
    },
    async verify({ args: [source] }, options) {
      const verdict = await verifyWith(modules.inspector, arrived(source), options);
      return verdict.ok ? verdict : { ...verdict, error: toPlain(verdict.error) };
    },
    call({ handle, args: [method, ...args] }, options, tell) {
      const thing = things.get(handle!) as unknown as Record<string, (...args: unknown[]) => unknown>;
      const run = () => thing[method as string]!(...args, options);
      const result = options["start"] === undefined ? run() : inParts(handle!, run);
      const isIterable = typeof result === "object" && result !== null && Symbol.asyncIterator in result;
      return isIterable ? drained(result as AsyncGenerator<unknown, unknown>, tell) : result;
    },
    memory: memoryBytes,
    dispose({ handle }) {
      (things.get(handle!) as Partial<Model> | undefined)?.dispose?.();
      things.delete(handle!);
      parts.delete(handle!);
    },
  };
}

/** The buffers of arrays in an answer, which go to the page without being copied. */
function buffers(value: unknown): Transferable[] {
  if (ArrayBuffer.isView(value)) return [value.buffer as ArrayBuffer];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((member) => (ArrayBuffer.isView(member) ? [member.buffer as ArrayBuffer] : []));
}

async function answer(answers: Record<string, Answering>, question: Question): Promise<void> {
  const { id, op } = question;
  const abort = new AbortController();
  running.set(id, abort);
  const last = question.args[question.args.length - 1] as { wantsProgress?: boolean } | undefined;
  const { wantsProgress, ...given } = typeof last === "object" && last !== null && "wantsProgress" in last ? last : {};
  if (wantsProgress !== undefined) question.args.pop();
  const tell: Tell = (progress) => scope.postMessage({ id, progress }, []);
  const options: Options = { ...given, signal: abort.signal, ...(wantsProgress ? { onProgress: tell } : {}) };
  try {
    const value = await answers[op]!(question, options, tell);
    scope.postMessage({ id, value }, buffers(value));
  } catch (error) {
    scope.postMessage({ id, error: toPlain(error) }, []);
  } finally {
    running.delete(id);
  }
}

/** Answers all that a page asks from now on, `others` in place of the answers here. */
export function serve(modules: Modules, others?: Record<string, Answering>): void {
  const answers = { ...answering(modules), ...others };
  scope.onmessage = ({ data }) => {
    if (data.op === "cancel") running.get(data.id)?.abort();
    else void answer(answers, data);
  };
}
