import type { LoadOptions, Model } from "./api.js";
import type { CausalGlue, CausalModel } from "./causal.js";
import type { EncoderFileGlue, EncoderGlue, Reranker } from "./encoders.js";
import type { Engine, Glue, InitOptions, ModelReader, Reader, SentenceReader } from "./engine.js";
import { NanoembedError, check } from "./errors.js";
import type { Folder } from "./folders.js";
import { MAGIC_BYTES, TELLING_BYTES, familyOf, joined, type Family } from "./formats.js";
import { loadSentences, type SentenceGlue, type SentenceModel } from "./sentences.js";
import { MemorySink, type Sink } from "./sink.js";
import type { Source } from "./source.js";
import type { WordGlue, WordOptions, WordVectors } from "./words.js";

/** A module that is loaded when it is needed. */
export interface Loadable<G extends Glue> {
  ready(options?: InitOptions): Promise<Engine<G>>;
}

/** What runs models. Code that not every page needs is loaded when a file wants it. */
export interface Runners {
  sentences: Loadable<SentenceGlue>;
  /** Static models. */
  static: Loadable<SentenceGlue>;
  words(): Promise<{
    engine: Engine<WordGlue>;
    loadWords(engine: Engine<WordGlue>, reader: Reader, options: WordOptions): WordVectors;
    openWith(engine: Engine<WordGlue>, source: Source, options?: WordOptions): Promise<WordVectors>;
  }>;
  causal(): Promise<{
    engine: Engine<CausalGlue>;
    loadCausal(engine: Engine<CausalGlue>, reader: Reader, format: string | undefined): CausalModel;
  }>;
  /** Encoders of all families. */
  encoders(): Promise<Encoding<EncoderGlue> & {
    engine: Engine<EncoderGlue>;
    loadFolder(engine: Engine<EncoderGlue>, folder: Folder, options: LoadOptions): Promise<SentenceModel | Reranker>;
  }>;
  /** Those in `.weights` and AMB files. */
  weights(): Promise<Encoding<EncoderFileGlue>>;
  /** Those in GGUF files. */
  gguf(): Promise<Encoding<EncoderFileGlue>>;
}

interface Encoding<G extends EncoderFileGlue> {
  engine: Loadable<G>;
  loadEncoder(
    engine: Engine<EncoderFileGlue>, reader: Reader, format: string | undefined, options: LoadOptions, kind?: Kind,
  ): SentenceModel | Reranker;
}

type Kind = Model["kind"];

/** The modules that run models. */
export type ModuleName = keyof Runners;

/** What is done with files of these formats, as far as their first bytes tell. */
const MODULES: Partial<Record<Family, ModuleName>> = { embd: "sentences", finalfusion: "words", gguf: "causal" };

/** What stands at the beginning of files with encoders that the module for BERT does not run. */
const TEXTS = /config\.json|["\0]prompt\./;
const HINTS: Partial<Record<Family, RegExp>> = {
  amb: TEXTS, embd: TEXTS, gguf: /general\.architecture[^]{12}[a-z0-9-]*(?:bert|embedding)|\.pooling_type/,
};

/** The module for all encoders in files of a format. */
const encoderModule = (format: string | undefined) => format === "gguf" ? format : "encoders";

/** A module. */
export const engineOf = async (runners: Runners, name: ModuleName): Promise<Loadable<Glue>> =>
  name === "sentences" || name === "static" ? runners[name] : (await runners[name]()).engine;

/** Refuses a model of another kind than is wanted. */
function checkKind(wanted: Kind | undefined, kind: Kind, format?: string): void {
  if (!wanted || wanted === kind) return;
  throw new NanoembedError("wrong_kind", `the file holds ${kind}, not ${wanted}`, format === undefined ? {} : { format });
}

/** A model, which is disposed of if another kind is wanted. */
export function ofKind<M extends Model>(wanted: Kind | undefined, model: M, format?: string): M {
  try {
    checkKind(wanted, model.kind, format);
    return model;
  } catch (error) {
    model.dispose();
    throw error;
  }
}

/**
 * The module that a file seems to be for, by what stands at its beginning. Whether it needs that for encoders of all families is
 * asked of a module when all of it is there; this saves a copy then.
 */
function moduleFor(start: Uint8Array, family: Family): ModuleName | undefined {
  const text = beginning(start);
  const hint = HINTS[family];
  if (family === "embd" && /architecture[^]{0,4}static/.test(text)) return "static";
  if (!hint?.test(text)) return MODULES[family];
  // Those that compare texts, `…ForSequenceClassification` and LogitScore, and tables in AMB files need the large module.
  const isSmall = hint === TEXTS && /config\.json/.test(text) && !/ForSeq|LogitScore|model2vec|StaticEmb/.test(text);
  return isSmall ? "weights" : encoderModule(family);
}

const beginning = (start: Uint8Array) => new TextDecoder().decode(start.subarray(0, 1 << 16));

/** The names of prompts in the file of a static model, all of which are empty: others need the module for all families. */
function promptNames(file: Uint8Array): string[] {
  const [, prompts] = /"prompts"\s*:\s*(\{[^}]*\})/.exec(beginning(file)) ?? [];
  try {
    return Object.keys(JSON.parse(prompts ?? "{}") as object).sort();
  } catch {
    return [];
  }
}

/**
 * A sink into the memory of the module that runs what the file holds. Its first bytes tell which that is, of AMB files the
 * first tensor; what came before is then copied from one module to the other. Where all of it came before the file has told
 * that it needs the module for all families, it is copied at the end.
 */
export class ModelSink implements Sink {
  readonly #runners: Runners;
  readonly #most: number;
  readonly #wanted: Kind | undefined;
  #inner: MemorySink<Reader> | undefined;
  #module: ModuleName | undefined;
  /** What came before it was enough. */
  #start: Uint8Array = new Uint8Array();
  #size = 0;
  #isOver = false;

  /** `most` is how many bytes the file may have, `wanted` what it has to hold. */
  constructor(runners: Runners, most: number, wanted?: Kind) {
    this.#runners = runners;
    this.#most = most;
    this.#wanted = wanted;
  }

  reserve(bytes: number): void {
    this.#size = bytes;
    if (this.#module) this.#inner!.reserve(bytes);
  }

  async write(piece: Uint8Array): Promise<void> {
    if (!this.#inner) {
      const start = joined(this.#start, piece);
      // The piece is another's before the next one comes.
      if (start.length < MAGIC_BYTES) this.#start = start.slice();
      else await this.#begin(start);
    } else {
      this.#inner.write(piece);
      if (!this.#module) await this.#look();
    }
  }

  /** Chooses a module by the first bytes, and gives it what is there. */
  async #begin(start: Uint8Array): Promise<void> {
    const family = familyOf(start);
    if (family === "safetensors") {
      const message = "a safetensors file holds weights alone: load the folder that it lies in, by an address that ends with /";
      throw new NanoembedError("unknown_format", message, { offset: 0, format: family });
    }
    const module = moduleFor(start, family);
    if (module && (module === "words" || start.length >= TELLING_BYTES)) this.#settle(module, family);
    this.#module = module;
    // Of AMB files this module says what they are.
    await this.#open(module ?? "sentences");
    if (module) this.#inner!.reserve(this.#size);
    this.#inner!.write(start);
    if (!module) await this.#look();
  }

  /** Goes on in another module if an AMB file turns out to be for that. */
  async #look(): Promise<void> {
    const first = this.#inner as MemorySink<SentenceReader>;
    const isCausal = first.reader!.holds_decoder();
    if (isCausal === undefined) return;
    this.#module = "sentences";
    if (isCausal) await this.#move("causal");
    else first.reserve(this.#size);
  }

  /** Goes on in another module, with what is there. */
  async #move(module: ModuleName): Promise<void> {
    const seen = this.#inner!.bytes().slice();
    this.#inner!.abort();
    this.#module = module;
    await this.#open(module);
    this.#inner!.reserve(Math.max(this.#size, seen.length));
    this.#inner!.write(seen);
  }

  async #open(name: ModuleName): Promise<void> {
    const engine = await (await engineOf(this.#runners, name)).ready();
    if (this.#isOver) throw new DOMException("aborted", "AbortError");
    this.#inner = new MemorySink(engine, this.#most);
  }

  /** Now it is known what runs the file: that module has to be for what is wanted. */
  #settle(module: ModuleName, format: string): void {
    // These embed or compare, which the model itself says; those in GGUF files embed.
    if (this.#wanted === "reranker" && /encoders|weights/.test(module)) return;
    checkKind(this.#wanted, module === "words" || module === "causal" ? module : "sentences", format);
  }

  async finish(): Promise<void> {
    if (!this.#inner) await this.#begin(this.#start);
    const inner = this.#inner as MemorySink<ModelReader>;
    inner.finish();
    if (inner.reader!.needs_encoders?.()) {
      await this.#move(encoderModule(inner.format));
      this.#inner!.finish();
    }
    this.#settle(this.#module!, this.#inner!.format!);
  }

  bytes(): Uint8Array {
    return this.#inner!.bytes();
  }

  /** The module that the file is in so far. */
  get engine(): Engine<Glue> | undefined {
    return this.#inner?.engine;
  }

  /** Makes the file that has arrived a model. */
  async model(options: LoadOptions): Promise<Model> {
    const runners = this.#runners;
    const inner = this.#inner!;
    const module = this.#module!;
    const { engine, format } = inner;
    check([true, false, undefined].includes(options.requantize), "requantize must be true or false");
    if (module === "words") {
      const { loadWords } = await runners.words();
      return loadWords(engine as Engine<WordGlue>, inner.take(), options);
    }
    if (module === "causal") {
      const { loadCausal } = await runners.causal();
      return loadCausal(engine as Engine<CausalGlue>, inner.take(), format);
    }
    if (module === "static") {
      const prompts = promptNames(inner.bytes());
      return loadSentences(engine as Engine<SentenceGlue>, inner.take(), format, options, { least: 1, prompts });
    }
    if (module === "sentences") return loadSentences(engine as Engine<SentenceGlue>, inner.take(), format, options);
    const { loadEncoder } = await runners[module]();
    return ofKind(this.#wanted, loadEncoder(engine as Engine<EncoderFileGlue>, inner.take(), format, options, this.#wanted), format);
  }

  abort(): void {
    this.#isOver = true;
    this.#inner?.abort();
  }
}
