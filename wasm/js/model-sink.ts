import type { LoadOptions, Model } from "./api.js";
import type { CausalGlue, CausalModel } from "./causal.js";
import type { Engine, Glue, Reader, SentenceReader } from "./engine.js";
import { NanoembedError } from "./errors.js";
import { MAGIC_BYTES, familyOf, joined, type Family } from "./formats.js";
import { loadSentences, type SentenceGlue } from "./sentences.js";
import { MemorySink, type Sink } from "./sink.js";
import type { Source } from "./source.js";
import type { WordGlue, WordOptions, WordVectors } from "./words.js";

/** What runs models. Code that not every page needs is loaded when a file wants it. */
export interface Runners {
  sentences: Engine<SentenceGlue>;
  words(): Promise<{
    engine: Engine<WordGlue>;
    loadWords(engine: Engine<WordGlue>, reader: Reader, options: WordOptions): WordVectors;
    openWith(engine: Engine<WordGlue>, source: Source, options?: WordOptions): Promise<WordVectors>;
  }>;
  causal(): Promise<{
    engine: Engine<CausalGlue>;
    loadCausal(engine: Engine<CausalGlue>, reader: Reader, format: string | undefined): CausalModel;
  }>;
}

type Kind = Model["kind"];

/** What is done with files of these formats. */
const KINDS: Partial<Record<Family, Kind>> = { embd: "sentences", finalfusion: "words", gguf: "causal" };

/** The module for one kind of models. */
export const engineOf = async (runners: Runners, kind: Kind): Promise<Engine<Glue>> =>
  kind === "sentences" ? runners.sentences : (await runners[kind]()).engine;

/**
 * A sink into the memory of the module that runs what the file holds. Its first bytes tell which that is, of AMB files the
 * first tensor; what came before is then copied from one module to the other.
 */
export class ModelSink implements Sink {
  readonly #runners: Runners;
  readonly #wanted: Kind | undefined;
  #inner: MemorySink<Reader> | undefined;
  #kind: Kind | undefined;
  /** What came before it was enough. */
  #start: Uint8Array = new Uint8Array();
  #size = 0;
  #isOver = false;

  constructor(runners: Runners, wanted?: Kind) {
    this.#runners = runners;
    this.#wanted = wanted;
  }

  reserve(bytes: number): void {
    this.#size = bytes;
    if (this.#kind) this.#inner!.reserve(bytes);
  }

  async write(piece: Uint8Array): Promise<void> {
    if (!this.#inner) {
      const start = joined(this.#start, piece);
      // The piece is another's before the next one comes.
      if (start.length < MAGIC_BYTES) this.#start = start.slice();
      else await this.#begin(start);
    } else {
      this.#inner.write(piece);
      if (!this.#kind) await this.#look();
    }
  }

  /** Chooses a module by the first bytes, and gives it what is there. */
  async #begin(start: Uint8Array): Promise<void> {
    const family = familyOf(start);
    const kind = KINDS[family];
    if (kind) this.#settle(kind, family);
    // Of other files this module says what they are, or that it does not know them.
    await this.#open(kind ?? "sentences");
    if (kind) this.#inner!.reserve(this.#size);
    this.#inner!.write(start);
    if (!kind) await this.#look();
  }

  /** Goes on in another module if an AMB file turns out to be for that. */
  async #look(): Promise<void> {
    const first = this.#inner as MemorySink<SentenceReader>;
    const isCausal = first.reader!.holds_decoder();
    if (isCausal === undefined) return;
    this.#settle(isCausal ? "causal" : "sentences", "amb");
    const seen = isCausal ? first.bytes().slice() : undefined;
    if (isCausal) {
      first.abort();
      await this.#open("causal");
    }
    this.#inner!.reserve(this.#size);
    if (seen) this.#inner!.write(seen);
  }

  async #open(kind: Kind): Promise<void> {
    const engine = await (await engineOf(this.#runners, kind)).ready();
    if (this.#isOver) throw new DOMException("The load was aborted.", "AbortError");
    this.#inner = new MemorySink(engine);
  }

  /** Now it is known what the file holds. */
  #settle(kind: Kind, format: string): void {
    if (this.#wanted && this.#wanted !== kind) {
      throw new NanoembedError("wrong_kind", `the file holds ${kind}, not ${this.#wanted}`, { format });
    }
    this.#kind = kind;
  }

  async finish(): Promise<void> {
    if (!this.#inner) await this.#begin(this.#start);
    this.#inner!.finish();
  }

  bytes(): Uint8Array {
    return this.#inner!.bytes();
  }

  /** Makes the file that has arrived a model. */
  async model(options: LoadOptions): Promise<Model> {
    const { sentences, words, causal } = this.#runners;
    const inner = this.#inner!;
    const format = inner.format;
    if (this.#kind === "words") {
      const { engine, loadWords } = await words();
      return loadWords(engine, inner.take(), options);
    }
    if (this.#kind === "causal") {
      const { engine, loadCausal } = await causal();
      return loadCausal(engine, inner.take(), format);
    }
    return loadSentences(sentences, inner.take(), format, options);
  }

  abort(): void {
    this.#isOver = true;
    this.#inner?.abort();
  }
}
