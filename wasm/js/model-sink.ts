import type { LoadOptions, Model } from "./api.js";
import type { CausalGlue, CausalModel } from "./causal.js";
import type { Engine, FullReader, Glue, Reader } from "./engine.js";
import { NanoembedError, guarded } from "./errors.js";
import { MAGIC_BYTES, familyOf, joined } from "./formats.js";
import { LocalSentences, type Sentences } from "./sentences.js";
import { MemorySink, type Sink } from "./sink.js";
import type { WordGlue, WordOptions, WordVectors } from "./words.js";

export interface FullGlue extends WordGlue {
  Reader: new (purpose: number, strict: boolean, length: number) => FullReader;
  Sentences: new (reader: Reader) => Sentences;
}

/** What runs models; code that not every page needs is loaded when a file wants it. */
export interface Runners {
  /** Sentence models and word vectors. */
  full: Engine<FullGlue>;
  words(): Promise<{
    loadWords(engine: Engine<WordGlue>, reader: Reader, options: WordOptions): WordVectors;
    openWith(engine: Engine<WordGlue>, source: never, options?: WordOptions): Promise<WordVectors>;
  }>;
  causal(): Promise<{
    engine: Engine<CausalGlue>;
    loadCausal(engine: Engine<CausalGlue>, reader: Reader, format: string | undefined): CausalModel;
  }>;
}

/**
 * A sink into the memory of the module that runs what the file holds. Its first bytes tell which that is, of AMB files the
 * first tensor; what came before is then copied from one module to the other.
 */
export class ModelSink implements Sink {
  readonly #runners: Runners;
  readonly #wanted: Model["kind"] | undefined;
  #inner: MemorySink<Reader> | undefined;
  #kind: Model["kind"] | undefined;
  /** What came before it was enough. */
  #start: Uint8Array = new Uint8Array();
  #size = 0;
  #isOver = false;

  constructor(runners: Runners, wanted?: Model["kind"]) {
    this.#runners = runners;
    this.#wanted = wanted;
    // It takes as long as the file's first bytes.
    if (wanted === "causal") void runners.causal().then(({ engine }) => engine.ready()).catch(() => {});
    else if (wanted) void runners.full.ready().catch(() => {});
  }

  reserve(bytes: number): void {
    this.#size = bytes;
    if (this.#kind) this.#inner?.reserve(bytes);
  }

  async write(piece: Uint8Array): Promise<void> {
    if (this.#kind) return this.#inner!.write(piece);
    if (!this.#inner) {
      const start = joined(this.#start, piece);
      // The piece is another's before the next one comes.
      if (start.length < MAGIC_BYTES) this.#start = start.slice();
      else await this.#begin(start);
      return;
    }
    this.#inner.write(piece);
    await this.#look();
  }

  /** Chooses a module by the first bytes, and gives it what is there. */
  async #begin(start: Uint8Array): Promise<void> {
    if (familyOf(start) === "gguf") {
      await this.#open("causal", "gguf");
      this.#inner!.write(start);
    } else {
      this.#inner = await this.#sink(this.#runners.full.ready());
      this.#inner.write(start.subarray(0, MAGIC_BYTES));
      await this.#look();
      this.#inner.write(start.subarray(MAGIC_BYTES));
      await this.#look();
    }
  }

  /** Goes on in another module if the file turns out to be for that. */
  async #look(): Promise<void> {
    if (this.#kind) return;
    const first = this.#inner as MemorySink<FullReader>;
    const kind = first.reader!.kind() as Model["kind"] | undefined;
    if (kind === "causal") {
      const [seen, format] = [first.bytes().slice(), first.format];
      first.abort();
      this.#inner = undefined;
      await this.#open(kind, format);
      this.#inner!.write(seen);
    } else if (kind) {
      this.#settle(kind, first.format);
    }
  }

  /** Begins in the module for causal models. */
  async #open(kind: "causal", format: string | undefined): Promise<void> {
    this.#settle(kind, format);
    const { engine } = await this.#runners.causal();
    this.#inner = await this.#sink(engine.ready());
    this.#inner.reserve(this.#size);
  }

  async #sink(engine: Promise<Engine<Glue>>): Promise<MemorySink<Reader>> {
    const ready = await engine;
    if (this.#isOver) throw new DOMException("The load was aborted.", "AbortError");
    return new MemorySink(ready);
  }

  /** Now it is known what the file holds. */
  #settle(kind: Model["kind"], format: string | undefined): void {
    this.#kind = kind;
    if (this.#wanted !== undefined && this.#wanted !== kind) {
      throw new NanoembedError("wrong_kind", `the file holds ${kind}, not ${this.#wanted}`, format ? { format } : {});
    }
    this.#inner?.reserve(this.#size);
  }

  async finish(): Promise<void> {
    if (!this.#inner) await this.#begin(this.#start);
    this.#inner!.finish();
    if (!this.#kind) this.#settle("sentences", this.format);
  }

  bytes(): Uint8Array {
    return this.#inner!.bytes();
  }

  get format(): string | undefined {
    return this.#inner?.format;
  }

  /** Makes the file that has arrived a model. */
  async model(options: LoadOptions): Promise<Model> {
    const { full, words, causal } = this.#runners;
    const inner = this.#inner!;
    const format = inner.format;
    if (this.#kind === "words") {
      const { loadWords } = await words();
      return loadWords(full, inner.take(), options);
    }
    if (this.#kind === "causal") {
      const { engine, loadCausal } = await causal();
      return loadCausal(engine, inner.take(), format);
    }
    const { Sentences } = full.glue;
    return new LocalSentences(guarded(() => new Sentences(inner.take()), () => format));
  }

  abort(): void {
    this.#isOver = true;
    this.#inner?.abort();
  }
}
