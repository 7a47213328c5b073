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

const isStream = (source: Source): source is ReadableStream<Uint8Array> =>
  typeof ReadableStream !== "undefined" && source instanceof ReadableStream;

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
  if (typeof Request !== "undefined" && source instanceof Request) return source.url;
  return undefined;
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
  if (typeof Response !== "undefined" && source instanceof Response) {
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

async function* read(reader: Reads, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
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
    void reader.cancel().catch(() => {});
  }
}

function bodyOf(response: Response): ReadableStream<Uint8Array> {
  if (!response.ok) {
    throw new NanoembedError("http_status", `${response.url || "the server"} answered ${response.status}`);
  }
  if (!response.body) throw new NanoembedError("no_body", "the response has no body, or it was used already");
  return response.body;
}

/** The size of the body, unless it is that of something compressed. */
function sizeOf(response: Response): number | undefined {
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

function asConnectionError(cause: unknown, offset: number): unknown {
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
  let timer: ReturnType<typeof setTimeout> | undefined;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => own.abort(new NanoembedError("timed_out", `no byte came for ${stall} ms`)), stall);
  };
  const done = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", pass);
  };
  alive();
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
    return { response, signal: own.signal, alive, done };
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
  if (isStream(source) || (typeof Response !== "undefined" && source instanceof Response)) {
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
