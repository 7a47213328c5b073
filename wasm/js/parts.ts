import type { Engine, Glue, PartsReader } from "./engine.js";
import { NanoembedError, guarded } from "./errors.js";
import { MAGIC_BYTES, joined } from "./formats.js";
import {
  asConnectionError, begun, bodyOf, bytesOf, checkAddress, fileOf, isBytes, isStream, limits, pause, read, requestFailure, sizeOf, unlessAborted, watch,
  type FetchOptions, type Source, type Watch,
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
  const file = source instanceof Blob ? source : await fileOf(source);
  if (file) {
    const { stall } = limits(options);
    return {
      size: file.size,
      read: async (offset, length) => new Uint8Array(await within(file.slice(offset, offset + length).arrayBuffer(), stall)),
      close() {},
    };
  }
  if (isStream(source) || source instanceof Response) {
    const isResponse = !isStream(source);
    return forward(isResponse ? bodyOf(source) : source, isResponse ? sizeOf(source) : undefined, options);
  }
  checkAddress(source);
  return ranges(source as string | URL | Request, options);
}

async function forward(stream: ReadableStream<Uint8Array>, size: number | undefined, options: FetchOptions): Promise<Parts> {
  return (await import("./forward-only.js")).forwardOnly(stream, size, options);
}

/** What becomes of `work`, unless that takes longer than `stall` milliseconds. */
export async function within<T>(work: Promise<T>, stall: number): Promise<T> {
  const watched = watch(undefined, stall);
  try {
    return await unlessAborted(work, watched.signal);
  } finally {
    watched.done();
  }
}

/** How much of a file the first range request asks for. */
const FIRST_RANGE = 1 << 16;

async function ranges(address: string | URL | Request, options: FetchOptions): Promise<Parts> {
  const first = await range(address, 0, FIRST_RANGE, options);
  if (first.response.status === 416) return { size: 0, read: async () => new Uint8Array(), close() {} };
  if (!first.bytes) {
    // No ranges: what is passed over has to be downloaded all the same, up to where the index ends.
    return forward(bodyOf(first.response), sizeOf(first.response), options);
  }
  const { size, bytes: start } = first;
  const etag = first.response.headers.get("etag");
  return {
    size,
    async read(offset, length, signal = options.signal) {
      const wanted = Math.min(length, size - offset);
      if (wanted <= 0) return new Uint8Array();
      if (offset + wanted <= start.length) return start.subarray(offset, offset + wanted);
      const { response, bytes } = await range(address, offset, wanted, signal ? { ...options, signal } : options);
      if (bytes?.length !== wanted || response.headers.get("etag") !== etag) {
        void response.body?.cancel().catch(() => {});
        throw new NanoembedError("source_changed", "the file changed while it was read", { offset });
      }
      return bytes;
    },
    close() {},
  };
}

type Range = { response: Response } & ({ bytes: Uint8Array; size: number } | { bytes?: undefined });

/** Asks for part of a file; an answer without `bytes` is the whole file. Broken connections are tried again. */
async function range(address: string | URL | Request, offset: number, length: number, options: FetchOptions): Promise<Range> {
  const { signal, retries, stall } = limits(options);
  for (let left = retries; ; left--) {
    const watched = watch(signal, stall);
    let isSilent = offset === 0;
    try {
      const request = new Request(address);
      request.headers.set("range", `bytes=${offset}-${offset + length - 1}`);
      const response = await fetch(request, { signal: watched.signal });
      isSilent = false;
      if (response.status !== 206) {
        if (response.status !== 416) bodyOf(response);
        return { response };
      }
      const total = /\/(\d+)$/.exec(response.headers.get("content-range") ?? "");
      if (!total) {
        // Another origin's server has to expose this header, or nobody knows where the file ends.
        void response.body?.cancel();
        const whole = await begun(address, options);
        whole.done();
        return whole;
      }
      return { response, bytes: await bytesFrom(response, length, watched), size: Number(total[1]) };
    } catch (cause) {
      signal?.throwIfAborted();
      if (isSilent && !watched.signal.aborted) throw await requestFailure(address, cause);
      const error = asConnectionError(watched.signal.aborted ? watched.signal.reason : cause, offset);
      if (left === 0 || (error as NanoembedError).code === "http_status") throw error;
    } finally {
      watched.done();
    }
    await pause((1 << (retries - left)) * 250, signal);
  }
}

/** The body, at most as long as was asked for. */
async function bytesFrom(response: Response, most: number, watched: Watch): Promise<Uint8Array> {
  const bytes = new Uint8Array(most);
  let length = 0;
  for await (const piece of read(bodyOf(response).getReader(), watched)) {
    bytes.set(piece.subarray(0, most - length), length);
    length += piece.length;
    // An answer to another question, which need not end.
    if (length > most) return bytes;
  }
  return bytes.subarray(0, length);
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
  reader: PartsReader,
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
