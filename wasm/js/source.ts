import { NanoembedError } from "./errors.js";

/** Whatever a file's bytes can come from. */
export type Source =
  | string
  | URL
  | Request
  | Response
  | ReadableStream<Uint8Array>
  | Blob
  | ArrayBuffer
  | ArrayBufferView;

/** What is being done with the file. */
export type Phase = "download" | "cache" | "ready";

export interface Progress {
  /** Bytes so far. */
  loaded: number;
  /** Bytes in all, where that is known. */
  total?: number;
  phase: Phase;
}

export interface FetchOptions {
  /** Stops everything and frees what was there. */
  signal?: AbortSignal;
  /** How often a broken connection is taken up again where it broke, if the server can do that. Default 3. */
  retries?: number;
  /** After how many milliseconds without a byte a connection counts as broken. Default 30,000. */
  stall?: number;
}

/** The pieces of a file in order, and what is known of its size. */
export interface Pieces extends AsyncIterable<Uint8Array> {
  readonly size: number | undefined;
}

export const isStream = (source: Source): source is ReadableStream<Uint8Array> => source instanceof ReadableStream;

export const isBytes = (source: Source): source is ArrayBuffer | ArrayBufferView =>
  source instanceof ArrayBuffer || ArrayBuffer.isView(source);

/** The same bytes, without a copy. */
export const bytesOf = (source: ArrayBuffer | ArrayBufferView): Uint8Array =>
  source instanceof ArrayBuffer
    ? new Uint8Array(source)
    : new Uint8Array(source.buffer, source.byteOffset, source.byteLength);

/** The address of a source that can be fetched again. */
export function addressOf(source: Source): string | undefined {
  if (typeof source === "string") return source;
  if (source instanceof URL) return source.href;
  return source instanceof Request ? source.url : undefined;
}

/**
 * Opens a source as pieces in order. Each is good until the next is asked for: where that can be, all lie in one buffer.
 * Buffers of their own would be garbage of the file's size before the collector runs.
 */
export async function pieces(source: Source, options: FetchOptions = {}): Promise<Pieces> {
  options.signal?.throwIfAborted();
  if (isBytes(source)) {
    const bytes = bytesOf(source);
    return { size: bytes.byteLength, [Symbol.asyncIterator]: () => cut(bytes) };
  }
  if (isStream(source)) return fromStream(source, undefined, options);
  if (source instanceof Blob) return fromStream(source.stream(), source.size, options);
  if (source instanceof Response) {
    return fromStream(bodyOf(source), sizeOf(source), options);
  }
  return download(source as string | URL | Request, options);
}

async function* cut(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const step = 1 << 20;
  for (let start = 0; start < bytes.length; start += step) yield bytes.subarray(start, start + step);
}

function fromStream(stream: ReadableStream<Uint8Array>, size: number | undefined, { signal }: FetchOptions): Pieces {
  return { size, [Symbol.asyncIterator]: () => read(reads(stream), signal) };
}

/** As much as a read of a stream of bytes may bring. */
const READ_BYTES = 1 << 18;

interface Reads {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(reason?: unknown): Promise<void>;
}

/** Reads a stream into one buffer if it is one of bytes, which bodies of responses are in most browsers. */
function reads(stream: ReadableStream<Uint8Array>): Reads {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = stream.getReader({ mode: "byob" });
  } catch {
    return stream.getReader();
  }
  let buffer = new ArrayBuffer(READ_BYTES);
  return {
    async read() {
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (value) buffer = value.buffer as ArrayBuffer;
      return { done, value };
    },
    cancel: (reason) => reader.cancel(reason),
  };
}

export async function* read(reader: Reads, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  const stop = () => void reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener("abort", stop, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      signal?.throwIfAborted();
      if (done || !value) return;
      yield value;
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    stop();
  }
}

export function bodyOf(response: Response): ReadableStream<Uint8Array> {
  if (!response.ok) {
    throw new NanoembedError("http_status", `${response.url || "the server"} answered ${response.status}`);
  }
  if (!response.body) throw new NanoembedError("no_body", "the response has no body, or it was used already");
  return response.body;
}

/** The size of the body, unless it is that of something compressed. */
export function sizeOf(response: Response): number | undefined {
  const length = response.headers.get("content-length");
  return length === null || response.headers.has("content-encoding") ? undefined : Number(length);
}

/** Fetches, and takes broken connections up again with a range request if the file is still the same. */
async function download(address: string | URL | Request, options: FetchOptions): Promise<Pieces> {
  const { signal, retries = 3, stall = 30_000 } = options;
  const first = await attempt(address, 0, undefined, signal, stall);
  const size = sizeOf(first.response);
  // A weak tag does not promise the same bytes.
  const etag = first.response.headers.get("etag") ?? "";
  const canResume = etag.startsWith('"') && !first.response.headers.has("content-encoding");

  async function* all(): AsyncGenerator<Uint8Array> {
    let current = first;
    let offset = 0;
    let left = retries;
    for (;;) {
      try {
        for await (const piece of read(reads(bodyOf(current.response)), current.signal)) {
          current.alive();
          offset += piece.length;
          yield piece;
        }
        if (size === undefined || offset >= size) return;
        throw new NanoembedError("source_changed", `the connection ended after ${offset} of ${size} bytes`);
      } catch (broken) {
        signal?.throwIfAborted();
        const cause = current.signal.aborted ? current.signal.reason : broken;
        if (!canResume || left === 0) throw asConnectionError(cause, offset);
        for (;;) {
          await pause((1 << (retries - left)) * 250, signal);
          left -= 1;
          try {
            current = await attempt(address, offset, etag, signal, stall);
            break;
          } catch (again) {
            signal?.throwIfAborted();
            if (left === 0 || (again as NanoembedError).code === "source_changed") throw asConnectionError(again, offset);
          }
        }
      } finally {
        current.done();
      }
    }
  }
  return { size, [Symbol.asyncIterator]: all };
}

export function asConnectionError(cause: unknown, offset: number): unknown {
  if (cause instanceof NanoembedError) return cause;
  return new NanoembedError("connection_lost", `the connection broke after ${offset} bytes: ${String(cause)}`, { offset, cause });
}

interface Attempt {
  response: Response;
  signal: AbortSignal;
  alive(): void;
  done(): void;
}

async function attempt(
  address: string | URL | Request,
  offset: number,
  etag: string | undefined,
  signal: AbortSignal | undefined,
  stall: number,
): Promise<Attempt> {
  const own = new AbortController();
  const pass = () => own.abort(signal?.reason);
  if (signal?.aborted) pass();
  signal?.addEventListener("abort", pass, { once: true });
  // Counted up now and then: a timer that is set anew for every piece takes time.
  let quiet = 0;
  const timer = setInterval(() => {
    if (++quiet > 8) own.abort(new NanoembedError("timed_out", `no byte came for ${stall} ms`));
  }, stall / 8);
  const done = () => {
    clearInterval(timer);
    signal?.removeEventListener("abort", pass);
  };
  try {
    const request = new Request(address);
    if (offset > 0) {
      request.headers.set("range", `bytes=${offset}-`);
      if (etag) request.headers.set("if-range", etag);
    }
    const response = await fetch(request, { signal: own.signal });
    if (offset > 0) {
      const range = response.headers.get("content-range") ?? "";
      if (response.status !== 206 || !range.startsWith(`bytes ${offset}-`)) {
        void response.body?.cancel();
        throw new NanoembedError("source_changed", "the file changed while it was downloaded", { offset });
      }
    }
    if (!response.ok) bodyOf(response);
    return { response, signal: own.signal, alive: () => { quiet = 0; }, done };
  } catch (error) {
    done();
    signal?.throwIfAborted();
    throw asConnectionError(own.signal.aborted ? own.signal.reason : error, offset);
  }
}

const pause = (milliseconds: number, signal?: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    signal?.addEventListener("abort", stop, { once: true });
  });
