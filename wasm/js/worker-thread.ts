// Runs in a worker: the same functions as in a page, asked for by messages.
import { modelOf, type LoadOptions, type Model } from "./api.js";
import { inspectWith, verifyWith, type InspectOptions, type Inspection } from "./inspection.js";
import { MemorySink } from "./load.js";
import { full } from "./module-full.js";
import { inspector } from "./module-inspect.js";
import { values } from "./module-values.js";
import { toPlain, type Answer, type Question } from "./protocol.js";
import type { Source } from "./source.js";
import { openWith, type WordOptions } from "./words.js";

interface Scope {
  onmessage: ((event: MessageEvent<Question>) => void) | null;
  postMessage(message: Answer, transfer: Transferable[]): void;
}
const scope = globalThis as unknown as Scope;

const sinks = new Map<number, MemorySink>();
const things = new Map<number, Model | Inspection>();
const running = new Map<number, AbortController>();
let handles = 0;

function keep(thing: Model | Inspection): number {
  handles += 1;
  things.set(handles, thing);
  return handles;
}

/** What a page needs to know of a model. */
function describe(model: Model): Record<string, unknown> {
  const handle = keep(model);
  const { kind, dims } = model;
  return model.kind === "words"
    ? { handle, kind, dims, count: model.count, subwords: model.subwords }
    : { handle, kind, dims, maxTokens: model.maxTokens };
}

type Options = Record<string, unknown> & { signal: AbortSignal; onProgress?: (progress: unknown) => void };

/** The answers to questions, by what they ask. */
const answers: Record<string, (question: Question, options: Options) => unknown> = {
  init: async ({ args: [module] }) => void (await full.ready(module === undefined ? undefined : { module_or_path: module as never })),
  async begin() {
    await full.ready();
    handles += 1;
    sinks.set(handles, new MemorySink(full));
    return handles;
  },
  reserve: ({ handle, args: [bytes] }) => sinks.get(handle!)!.reserve(bytes as number),
  write: ({ handle, args: [piece] }) => sinks.get(handle!)!.write(piece as Uint8Array),
  finish: ({ handle }) => sinks.get(handle!)!.finish(),
  bytes: ({ handle }) => sinks.get(handle!)!.bytes().slice(),
  abort({ handle }) {
    sinks.get(handle!)?.abort();
    sinks.delete(handle!);
  },
  model({ handle, args: [options] }) {
    const sink = sinks.get(handle!)!;
    sinks.delete(handle!);
    return describe(modelOf(full, sink, options as LoadOptions));
  },
  open: async ({ args: [source] }, options) => describe(await openWith(full, source as Source, options as WordOptions)),
  async inspect({ args: [source] }, options) {
    const inspection = await inspectWith(inspector, values, source as Source, options as InspectOptions);
    const { values: _, ...summary } = inspection;
    return { ...summary, handle: keep(inspection) };
  },
  async verify({ args: [source] }, options) {
    const verdict = await verifyWith(inspector, source as Source, options);
    return verdict.ok ? verdict : { ...verdict, error: toPlain(verdict.error) };
  },
  call({ handle, args: [method, ...args] }, options) {
    const thing = things.get(handle!) as unknown as Record<string, (...args: unknown[]) => unknown>;
    return thing[method as string]!(...args, options);
  },
  memory: () => full.memoryBytes + inspector.memoryBytes + values.memoryBytes,
  dispose({ handle }) {
    (things.get(handle!) as Partial<Model> | undefined)?.dispose?.();
    things.delete(handle!);
  },
};

/** The buffers of arrays in an answer, which go to the page without being copied. */
function buffers(value: unknown): Transferable[] {
  if (ArrayBuffer.isView(value)) return [value.buffer as ArrayBuffer];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((member) => (ArrayBuffer.isView(member) ? [member.buffer as ArrayBuffer] : []));
}

async function answer(question: Question): Promise<void> {
  const { id, op } = question;
  const abort = new AbortController();
  running.set(id, abort);
  const last = question.args[question.args.length - 1] as { wantsProgress?: boolean } | undefined;
  const { wantsProgress, ...given } = typeof last === "object" && last !== null && "wantsProgress" in last ? last : {};
  if (wantsProgress !== undefined) question.args.pop();
  const onProgress = (progress: unknown) => scope.postMessage({ id, progress }, []);
  const options: Options = { ...given, signal: abort.signal, ...(wantsProgress ? { onProgress } : {}) };
  try {
    const value = await answers[op]!(question, options);
    scope.postMessage({ id, value }, buffers(value));
  } catch (error) {
    scope.postMessage({ id, error: toPlain(error) }, []);
  } finally {
    running.delete(id);
  }
}

scope.onmessage = ({ data }) => {
  if (data.op === "cancel") running.get(data.id)?.abort();
  else void answer(data);
};
