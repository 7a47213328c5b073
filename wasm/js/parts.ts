import type { Engine, Glue, Reader } from "./engine.js";
import { NanoembedError, guarded } from "./errors.js";
import { MAGIC_BYTES, joined } from "./formats.js";
import {
  asConnectionError, bodyOf, bytesOf, isBytes, isStream, read, sizeOf, type FetchOptions, type Source,
} from "./source.js";

/** A file of which any part can be read. */
export interface Parts {
  /** The size in bytes, where it is known. */
  readonly size: number | undefined;
  /** Reads up to `bytes` bytes from `offset` on; fewer only at the end. */
  read(offset: number, bytes: number, signal?: AbortSignal): Promise<Uint8Array>;
  /** Ends what is still open. */
  close(): void;
}

/** Opens a source for reading parts: slices of what is here, range requests, or a stream whose rest is passed over. */
export async function parts(source: Source, options: FetchOptions = {}): Promise<Parts> {
  options.signal?.throwIfAborted();
  if (isBytes(source)) {
    const bytes = bytesOf(source);
    return {
      size: bytes.length,
      read: async (offset, length) => bytes.subarray(offset, offset + length),
      close() {},
    };
  }
  if (source instanceof Blob) {
    return {
      size: source.size,
      read: async (offset, length) => new Uint8Array(await source.slice(offset, offset + length).arrayBuffer()),
      close() {},
    };
  }
  if (isStream(source) || source instanceof Response) {
    const isResponse = !isStream(source);
    return forwardOnly(isResponse ? bodyOf(source) : source, isResponse ? sizeOf(source) : undefined, options);
  }
  return ranges(source as string | URL | Request, options);
}

/** How much of a file the first range request asks for. */
const FIRST_RANGE = 1 << 16;

async function ranges(address: string | URL | Request, options: FetchOptions): Promise<Parts> {
  const ask = (offset: number, bytes: number, signal: AbortSignal | undefined) => {
    const request = new Request(address);
    request.headers.set("range", `bytes=${offset}-${offset + bytes - 1}`);
    return fetch(request, signal ? { signal } : {});
  };
  const response = await ask(0, FIRST_RANGE, options.signal).catch((cause: unknown) => {
    options.signal?.throwIfAborted();
    throw asConnectionError(cause, 0);
  });
  const total = /\/(\d+)$/.exec(response.headers.get("content-range") ?? "");
  if (response.status === 416) return { size: 0, read: async () => new Uint8Array(), close() {} };
  if (response.status !== 206 || !total) {
    // No ranges: what is passed over has to be downloaded all the same, up to where the index ends.
    return forwardOnly(bodyOf(response), sizeOf(response), options);
  }
  const size = Number(total[1]);
  const etag = response.headers.get("etag");
  const start = new Uint8Array(await response.arrayBuffer());
  return {
    size,
    async read(offset, length, signal = options.signal) {
      const wanted = Math.min(length, size - offset);
      if (wanted <= 0) return new Uint8Array();
      if (offset + wanted <= start.length) return start.subarray(offset, offset + wanted);
      let answer: Response;
      let bytes: Uint8Array;
      try {
        answer = await ask(offset, wanted, signal);
        if (answer.status !== 206) bodyOf(answer);
        bytes = new Uint8Array(await answer.arrayBuffer());
      } catch (cause) {
        signal?.throwIfAborted();
        throw asConnectionError(cause, offset);
      }
      if (answer.status !== 206 || answer.headers.get("etag") !== etag || bytes.length !== wanted) {
        throw new NanoembedError("source_changed", "the file changed while it was read", { offset });
      }
      return bytes;
    },
    close() {},
  };
}

function forwardOnly(stream: ReadableStream<Uint8Array>, size: number | undefined, { signal }: FetchOptions): Parts {
  // Pieces with buffers of their own: some are kept while the next are read.
  const iterator = read(stream.getReader(), signal);
  let rest: Uint8Array = new Uint8Array();
  let at = 0;
  return {
    size,
    async read(offset, bytes) {
      if (offset < at) throw new NanoembedError("not_seekable", "a stream cannot be read backwards", { offset });
      const wanted: Uint8Array[] = [];
      let length = 0;
      while (length < bytes) {
        if (rest.length === 0) {
          const next = await iterator.next();
          if (next.done) break;
          rest = next.value;
        }
        const skipped = Math.min(rest.length, offset - at);
        at += skipped;
        const taken = rest.subarray(skipped, skipped + bytes - length);
        rest = rest.subarray(skipped + taken.length);
        if (at < offset) continue;
        wanted.push(taken);
        length += taken.length;
        at += taken.length;
        offset = at;
        // Whoever asks for much is content with what is here.
        if (length > 0 && rest.length === 0) break;
      }
      if (wanted.length === 1) return wanted[0]!;
      const whole = new Uint8Array(length);
      let end = 0;
      for (const piece of wanted) {
        whole.set(piece, end);
        end += piece.length;
      }
      return whole;
    },
    close() {
      void iterator.return(undefined);
    },
  };
}

/** How much of a file is read first: enough to tell its format, and to read no more of small ones. */
const START_BYTES = 1 << 16;

/** The first bytes of a file: as many as tell its format, or as there are. */
export async function startOf(file: Parts, signal?: AbortSignal): Promise<Uint8Array> {
  let start: Uint8Array = new Uint8Array();
  while (start.length < MAGIC_BYTES) {
    const next = await file.read(start.length, START_BYTES, signal);
    if (next.length === 0) break;
    start = joined(start, next);
  }
  return start;
}

/** Reads a file's header and index, as a reader asks for them; `start` was read before. */
export async function readIndex(
  engine: Engine<Glue>,
  reader: Reader,
  file: Parts,
  signal?: AbortSignal,
  start: Uint8Array = new Uint8Array(),
): Promise<void> {
  const smallest = 1 << 16;
  let step = smallest;
  let expected = 0;
  while (!reader.complete()) {
    signal?.throwIfAborted();
    const offset = reader.wanted();
    if (file.size !== undefined && offset >= file.size) {
      guarded(() => reader.finish(), () => reader.format());
      return;
    }
    step = offset === expected ? Math.min(step * 2, 1 << 22) : smallest;
    const isStart = offset === 0 && start.length > 0;
    const bytes = isStart ? start : await file.read(offset, Math.max(reader.at_least(), step), signal);
    if (bytes.length === 0) {
      guarded(() => reader.finish(), () => reader.format());
      return;
    }
    expected = offset + bytes.length;
    guarded(() => {
      const address = reader.room(bytes.length);
      engine.view(address, bytes.length).set(bytes);
      reader.advance();
    }, () => reader.format());
  }
}
