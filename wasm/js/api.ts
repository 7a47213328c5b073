// What the entries `.` and `./inline` have in common: the same functions over modules from different places.
import type { Engine, InitOptions } from "./engine.js";
import { NanoembedError, guarded } from "./errors.js";
import type { InspectOptions, Inspection, Verdict, VerifyOptions } from "./inspection.js";
import { MemorySink, bring, type LoadOptions as BaseOptions } from "./load.js";
import { LocalSentences, type SentenceModel, type Sentences } from "./sentences.js";
import type { Source } from "./source.js";
import { LocalWords, makeWords, openWith, type WordGlue, type WordOptions, type WordVectors } from "./words.js";
import type { Reader } from "./engine.js";

/** What a file can be loaded as. */
export type Model = SentenceModel | WordVectors;

export interface LoadOptions extends BaseOptions, Pick<WordOptions, "duplicates"> {
  /** What the file must hold. Without it the file decides, and the result's `kind` says what it was. */
  kind?: "sentences" | "words";
}

export interface FullGlue extends WordGlue {
  Sentences: new (reader: Reader) => Sentences;
}

export interface Api {
  /**
   * Loads the module for models now, or from elsewhere than the package's own file. Otherwise the first call does. That of
   * `inspect` and `verify` is `init` of `nanoembed/inspect`.
   */
  init(options?: InitOptions): Promise<void>;
  /** Loads a model: its bytes are looked at as they arrive, and lie once in memory. The format is told by the bytes. */
  load(source: Source, options: LoadOptions & { kind: "sentences" }): Promise<SentenceModel>;
  load(source: Source, options: LoadOptions & { kind: "words" }): Promise<WordVectors>;
  load(source: Source, options?: LoadOptions): Promise<Model>;
  /** Opens word vectors in a file that stays where it is: a `Blob`, or an address whose server answers range requests. */
  open(source: Source, options?: WordOptions): Promise<WordVectors>;
  /** Reads header and index of a file in any format that is known here, and nothing else. */
  inspect(source: Source, options?: InspectOptions): Promise<Inspection>;
  /** Looks at every byte of a file: structure, bounds, checksums. */
  verify(source: Source, options?: VerifyOptions): Promise<Verdict>;
  /** The size of the modules' memory in bytes, 0 before they are loaded. */
  memoryBytes(): number;
}

/** Makes a loaded file a model. */
export function modelOf(engine: Engine<FullGlue>, sink: MemorySink, options: LoadOptions): Model {
  const format = sink.format;
  const kind = format === "finalfusion" ? "words" : "sentences";
  if (options.kind !== undefined && options.kind !== kind) {
    sink.abort();
    throw new NanoembedError("wrong_kind", `the file holds ${kind}, not ${options.kind}`, format ? { format } : {});
  }
  const reader = sink.take();
  if (kind === "words") return new LocalWords(makeWords(engine, reader, options));
  const { Sentences } = engine.glue;
  return new LocalSentences(guarded(() => new Sentences(reader), () => format));
}

/** What only looks at files. */
export type Looking = Pick<Api, "inspect" | "verify" | "memoryBytes">;

/** Models come from `engine`; what only looks at files is loaded, code and module, when it is asked for. */
export function api(engine: Engine<FullGlue>, bringLooking: () => Promise<Looking>): Api {
  let looking: Looking | undefined;
  const look = async () => (looking ??= await bringLooking());
  async function load(source: Source, options: LoadOptions = {}) {
    options.signal?.throwIfAborted();
    await engine.ready();
    const sink = (await bring(source, () => new MemorySink(engine), options)) as MemorySink;
    return modelOf(engine, sink, options);
  }
  return {
    init: async (options) => void (await engine.ready(options)),
    load: load as Api["load"],
    open: (source, options) => openWith(engine, source, options),
    inspect: async (source, options) => (await look()).inspect(source, options),
    verify: async (source, options) => (await look()).verify(source, options),
    memoryBytes: () => engine.memoryBytes + (looking?.memoryBytes() ?? 0),
  };
}
