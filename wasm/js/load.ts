import { forget, keep, recall, type CacheKind } from "./cache.js";
import { Purpose, type Engine, type Glue, type Reader } from "./engine.js";
import { NanoembedError, guarded } from "./errors.js";
import { addressOf, pieces, type FetchOptions, type Pieces, type Progress, type Source } from "./source.js";

export interface LoadOptions extends FetchOptions {
  /** Is told of progress after every piece. */
  onProgress?: (progress: Progress) => void;
  /** Keeps the download for the next visit. Only for addresses; a full store never fails the load. Default: nowhere. */
  cache?: CacheKind | false;
  /** What the file's SHA-256 must be, as in `<script integrity>`: `"sha256-…"`. The format's own checksums are always checked. */
  integrity?: string;
  limits?: {
    /** The largest file that is accepted. Default 2 GB. */
    maxBytes?: number;
  };
}

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
export class MemorySink implements Sink {
  readonly #engine: Engine<Glue>;
  #reader: Reader | undefined;
  #reserved = 0;

  constructor(engine: Engine<Glue>) {
    this.#engine = engine;
    this.#reader = new engine.glue.Reader(Purpose.Load, false, -1);
  }

  reserve(bytes: number): void {
    if (bytes > this.#reserved) guarded(() => this.#reader!.reserve(bytes));
    this.#reserved = Math.max(this.#reserved, bytes);
  }

  write(piece: Uint8Array): void {
    const reader = this.#reader!;
    guarded(() => {
      const address = reader.room(piece.length);
      this.#engine.view(address, piece.length).set(piece);
      reader.advance();
    }, () => this.format);
    // The header says how large the file is, where the server did not.
    const size = reader.file_bytes();
    if (size > this.#reserved && size < 2 ** 31) this.reserve(size);
  }

  finish(): void {
    guarded(() => this.#reader!.finish(), () => this.format);
  }

  bytes(): Uint8Array {
    const reader = this.#reader!;
    const length = reader.wanted();
    return this.#engine.view(reader.room(0) - length, length);
  }

  get format(): string | undefined {
    return this.#reader?.format();
  }

  /** Hands the reader on, to be made a model. */
  take(): Reader {
    const reader = this.#reader!;
    this.#reader = undefined;
    return reader;
  }

  abort(): void {
    this.#reader?.free();
    this.#reader = undefined;
  }
}

/** Brings a file into a sink, from a cache if it is there. Aborts the sink if anything goes wrong. */
export async function bring(source: Source, open: () => Sink, options: LoadOptions): Promise<Sink> {
  const address = addressOf(source);
  const kind = address === undefined ? undefined : options.cache || undefined;
  if (kind !== undefined && address !== undefined) {
    const kept = await recall(kind, address, options.signal);
    if (kept) {
      try {
        return await fill(kept, open(), "cache", options);
      } catch (error) {
        if (!(error instanceof NanoembedError)) throw error;
        // A copy that is damaged is as good as none.
        await forget(kind, address);
      }
    }
  }
  const sink = await fill(await pieces(source, options), open(), "download", options);
  if (kind !== undefined && address !== undefined) {
    await keep(kind, address, (await sink.bytes()) as Uint8Array<ArrayBuffer>);
  }
  return sink;
}

async function fill(source: Pieces, sink: Sink, phase: "download" | "cache", options: LoadOptions): Promise<Sink> {
  const { signal, onProgress, integrity, limits } = options;
  const most = limits?.maxBytes ?? 2e9;
  const tooLarge = () => new NanoembedError("too_large", `the file has more than the ${most} bytes allowed`);
  const total = source.size === undefined ? {} : { total: source.size };
  let loaded = 0;
  try {
    if ((source.size ?? 0) > most) throw tooLarge();
    if (source.size !== undefined) await sink.reserve(source.size);
    onProgress?.({ loaded, ...total, phase });
    for await (const piece of source) {
      signal?.throwIfAborted();
      loaded += piece.length;
      if (loaded > most) throw tooLarge();
      await sink.write(piece);
      onProgress?.({ loaded, ...total, phase });
    }
    signal?.throwIfAborted();
    await sink.finish();
    if (integrity !== undefined) await compare(integrity, sink);
    signal?.throwIfAborted();
    onProgress?.({ loaded, total: loaded, phase: "ready" });
    return sink;
  } catch (error) {
    sink.abort();
    throw error;
  }
}

async function compare(integrity: string, sink: Sink): Promise<void> {
  const wanted = /^sha256-([A-Za-z0-9+/]{43}=)$/.exec(integrity.trim());
  if (!wanted) throw new NanoembedError("invalid_argument", "integrity must be `sha256-` and 44 characters of base64");
  const subtle = (globalThis.crypto as Crypto | undefined)?.subtle;
  if (!subtle) throw new NanoembedError("no_crypto", "SHA-256 can be checked on secure pages (https, localhost) only");
  const digest = await subtle.digest("SHA-256", (await sink.bytes()) as Uint8Array<ArrayBuffer>);
  const found = btoa(String.fromCharCode(...new Uint8Array(digest)));
  if (found !== wanted[1]) throw new NanoembedError("integrity", `the file's SHA-256 is sha256-${found}, not ${integrity}`);
}
