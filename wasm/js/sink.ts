import { Purpose, type Engine, type Glue, type Reader } from "./engine.js";
import { NanoembedError, guarded } from "./errors.js";

/** Takes the bytes of a file as they come. */
export interface Sink {
  /** The file will have so many bytes. */
  reserve(bytes: number): void | Promise<void>;
  write(piece: Uint8Array): void | Promise<void>;
  /** No more come; what is wrong with the file is thrown at the latest now. */
  finish(): void | Promise<void>;
  /** A copy of the whole file, or a view of it that is good until the next call. */
  bytes(): Uint8Array | Promise<Uint8Array>;
  /** Frees everything. */
  abort(): void;
}

/** A sink into a module's memory: each piece is copied there once, and looked at there. */
export class MemorySink<R extends Reader> implements Sink {
  /** The module whose memory the bytes are in. */
  readonly engine: Engine<Glue>;
  #reader: R | undefined;
  readonly #most: number;
  #reserved = 0;

  /** `most` is how many bytes the file may have. */
  constructor(engine: Engine<Glue>, most: number) {
    this.engine = engine;
    this.#most = most;
    this.#reader = new engine.glue.Reader(Purpose.Load, false, -1) as R;
  }

  /** What looks at the bytes, until it is handed on. */
  get reader(): R | undefined {
    return this.#reader;
  }

  reserve(bytes: number): void {
    if (bytes > this.#reserved) guarded(() => this.#reader!.reserve(bytes));
    this.#reserved = Math.max(this.#reserved, bytes);
  }

  write(piece: Uint8Array): void {
    const reader = this.#reader!;
    guarded(() => {
      const address = reader.room(piece.length);
      this.engine.view(address, piece.length).set(piece);
      reader.advance();
    }, () => this.format);
    // The header says how large the file is, where the server did not.
    const size = reader.file_bytes();
    if (size > this.#most) throw new NanoembedError("too_large", `the file says that it has ${size} bytes: more than ${this.#most}`);
    if (size > this.#reserved && size < 2 ** 31) this.reserve(size);
  }

  finish(): void {
    guarded(() => this.#reader!.finish(), () => this.format);
  }

  bytes(): Uint8Array {
    const reader = this.#reader!;
    const length = reader.wanted();
    return this.engine.view(reader.room(0) - length, length);
  }

  get format(): string | undefined {
    return this.#reader?.format();
  }

  /** Hands the reader on, to be made a model. */
  take(): R {
    const reader = this.#reader!;
    this.#reader = undefined;
    return reader;
  }

  abort(): void {
    this.#reader?.free();
    this.#reader = undefined;
  }
}
