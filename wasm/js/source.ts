import { NanoembedError, check } from "./errors.js";
import { isLocal } from "./node.js";
import type { Platform } from "./platform.js";

/** An address that is looked up when it is asked for, as packages with models export it: `nanoembed-minilm` does. */
export interface Address {
  readonly href: string;
  /** What to do where the address leads nowhere, for error messages. */
  readonly remedy?: string;
  /** The same as `href`. */
  toString(): string;
}

/** Whatever a file's bytes can come from. */
export type Source =
  | string
  | Platform<"URL">
  | Address
  | Platform<"Request">
  | Platform<"Response">
  | Platform<"ReadableStream">
  | Platform<"Blob">
  | ArrayBuffer
  | ArrayBufferView;

/** What is being done with the file. */
export type Phase = "download" | "cache" | "ready";

export interface Progress {
  /** Bytes so far. */
  loaded: number;
  /** Bytes in all, where that is known. */
  total?: number | undefined;
  phase: Phase;
}

export interface FetchOptions {
  /** Stops everything and frees what was there. */
  signal?: Platform<"AbortSignal">;
  /** How often a broken connection is taken up again: where it broke, if the server can do that, or else from the start. Default 3. */
  retries?: number;
  /** After how many milliseconds without a byte a connection, stream or file counts as broken. Default 30,000. */
  stall?: number;
}

/** The names of these options. */
export const FETCH = { signal: true, retries: true, stall: true } satisfies Record<keyof FetchOptions, true>;

/** The pieces of a file in order, and what is known of its size. */
export interface Pieces extends AsyncIterable<Uint8Array> {
  readonly size: number | undefined;
  /** Whether a broken connection is not taken up where it broke, so that the file has to be begun again. */
  readonly beginsAgain?: boolean;
  /** Ends what was opened and never read. */
  close?(): void;
}

export const isStream = (source: Source): source is ReadableStream<Uint8Array> => source instanceof ReadableStream;

export const isBytes = (source: Source): source is ArrayBuffer | ArrayBufferView =>
  source instanceof ArrayBuffer || ArrayBuffer.isView(source);

/** The same bytes, without a copy. */
export const bytesOf = (source: ArrayBuffer | ArrayBufferView): Uint8Array =>
  source instanceof ArrayBuffer
    ? new Uint8Array(source)
    : new Uint8Array(source.buffer, source.byteOffset, source.byteLength);

/** Whether a source is an address alone. */
export const isAddress = (source: unknown): source is string | URL => typeof source === "string" || hrefOf(source) !== undefined;

function hrefOf(source: unknown): string | undefined {
  try {
    return (source as Address | undefined)?.href;
  } catch (cause) {
    throw new NanoembedError("missing_file", (cause as Error).message, { cause });
  }
}

/** The address of a source that can be fetched again. */
export const addressOf = (source: Source | undefined): string | undefined =>
  typeof source === "string" ? source : source instanceof Request ? source.url : hrefOf(source);

/** The error, which says what file it is about: what an argument is wrong with is none. */
export function located(error: unknown, source: Source | undefined): unknown {
  const { url, webkitRelativePath, name } = (source ?? {}) as Partial<Response & File>;
  const where = addressOf(source) ?? (url || webkitRelativePath || name);
  const isAbout = error instanceof NanoembedError && !["invalid_argument", "disposed", "missing_file"].includes(error.code);
  if (where && isAbout && !error.message.includes(where)) error.message += `: ${where}`;
  return error;
}

/** Refuses what is no source at all, where bytes, streams and others are looked at before. */
export function checkAddress(source: Source): void {
  check(addressOf(source) !== undefined, "the source is no address, response, stream, Blob or bytes");
}

/** The file of Node's file system that an address names, if it names one. */
export async function fileOf(source: Source): Promise<Blob | undefined> {
  return isAddress(source) && isLocal(source) ? (await import("./local-files.js")).neededFile(source) : undefined;
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
  checkAddress(source);
  const file = await fileOf(source);
  if (file) return fromStream(file.stream(), file.size, options);
  return download(source as string | URL | Request, options);
}

async function* cut(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const step = 1 << 20;
  for (let start = 0; start < bytes.length; start += step) yield bytes.subarray(start, start + step);
}

/** What comes from a stream, which is waited for no longer than `stall`, wherever its bytes come from. */
function fromStream(stream: ReadableStream<Uint8Array>, size: number | undefined, options: FetchOptions): Pieces {
  const { signal, stall } = limits(options);
  async function* all() {
    const watched = watch(signal, stall);
    try {
      yield* read(reads(stream), watched);
    } finally {
      watched.done();
    }
  }
  return { size, close: () => void stream.cancel().catch(() => {}), [Symbol.asyncIterator]: all };
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

/** The pieces that a reader gives. Only the time in which one is waited for counts as silence, not that of whoever takes them. */
export async function* read(reader: Reads, { signal, alive, rest }: Omit<Watch, "done">): AsyncGenerator<Uint8Array> {
  const stop = () => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", stop);
  try {
    for (;;) {
      signal.throwIfAborted();
      alive();
      const { done, value } = await reader.read();
      rest();
      signal.throwIfAborted();
      if (done || !value) return;
      yield value;
    }
  } catch (broken) {
    throw signal.aborted ? signal.reason : broken;
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}

export function bodyOf(response: Response): ReadableStream<Uint8Array> {
  if (!response.ok) {
    throw new NanoembedError("http_status", `${response.url || "the server"} answered ${response.status}`);
  }
  if (!response.body) throw new NanoembedError("no_body", "the response has no body, or it was used");
  return response.body;
}

/** The size of the body, unless it is that of something compressed. */
export function sizeOf(response: Response): number | undefined {
  const length = response.headers.get("content-length");
  return length === null || response.headers.has("content-encoding") ? undefined : Number(length);
}

/** Whether the body is a web page, which no model is. */
export const isPage = (response: Response): boolean => /^text\/html\b/.test(response.headers.get("content-type") ?? "");

/** Why an address has no answer, as far as can be told. */
export async function requestFailure(address: string | URL | Request, cause: unknown): Promise<unknown> {
  const explained = await import("./request-failure.js").catch(() => undefined);
  return explained ? explained.requestFailure(address, cause) : asConnectionError(cause, 0);
}

/** Fetches the file at an address. */
const download = async (address: string | URL | Request, options: FetchOptions): Promise<Pieces> =>
  following(await begun(address, options), address, options);

/** The beginning of an answer, of any status. */
export function begun(address: string | URL | Request, options: FetchOptions): Promise<Attempt> {
  const { signal = (address as Request).signal, stall } = limits(options);
  return attempt(address, 0, undefined, signal, stall);
}

/** Ends a connection whose bytes nobody wants. */
export function end({ response, done }: Attempt): void {
  done();
  void response.body?.cancel().catch(() => {});
}

/** What follows of a file; broken connections are taken up again with a range request if the file is still the same. */
export function following(first: Attempt, address: string | URL | Request, options: FetchOptions): Pieces {
  const { signal = (address as Request).signal, retries, stall } = limits(options);
  if (!first.response.ok) end(first);
  bodyOf(first.response);
  const size = sizeOf(first.response);
  // A weak tag does not promise the same bytes.
  const etag = first.response.headers.get("etag") ?? "";
  const canResume = etag.startsWith('"') && !first.response.headers.has("content-encoding");

  async function* all(): AsyncGenerator<Uint8Array> {
    let current = first;
    let offset = 0;
    let left = retries;
    for (;;) {
      const { response, done } = current;
      try {
        // A server that knows no ranges sends from the start again.
        let passed = response === first.response || response.status === 206 ? 0 : offset;
        for await (const piece of read(reads(bodyOf(response)), current)) {
          const rest = piece.subarray(Math.min(passed, piece.length));
          passed -= piece.length - rest.length;
          offset += rest.length;
          if (rest.length > 0) yield rest;
        }
        if (size === undefined || offset >= size) return;
        throw new NanoembedError("connection_lost", `the connection ended after ${offset} of ${size} bytes`);
      } catch (broken) {
        signal?.throwIfAborted();
        if (!canResume || left === 0) throw asConnectionError(broken, offset);
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
        done();
      }
    }
  }
  return { size, beginsAgain: !canResume, close: () => end(first), [Symbol.asyncIterator]: all };
}

/** How patient the caller is. */
export function limits({ signal, retries = 3, stall = 30_000 }: FetchOptions) {
  check(Number.isInteger(retries) && retries >= 0 && stall > 0, "retries or stall is out of range");
  return { signal, retries, stall };
}

/** Ends what is waited for when nothing comes. */
export interface Watch {
  /** Aborted by the caller's own signal, or by silence. */
  readonly signal: AbortSignal;
  /** Something came: silence counts anew. */
  alive(): void;
  /** Nothing is waited for until `alive` is called. */
  rest(): void;
  done(): void;
}

/** A signal that follows `signal`, and aborts when nobody has called `alive` for `stall` milliseconds. */
export function watch(signal: AbortSignal | undefined, stall: number): Watch {
  const own = new AbortController();
  const pass = () => own.abort(signal?.reason);
  if (signal?.aborted) pass();
  signal?.addEventListener("abort", pass);
  // Counted up now and then: a timer that is reset for every piece takes time. Timers end at 2³¹.
  let quiet = 0;
  const timer = setInterval(() => {
    if (++quiet > 8) own.abort(new NanoembedError("timed_out", `nothing came for ${stall} ms`));
  }, Math.min(stall / 8, 2 ** 31 - 1));
  return {
    signal: own.signal,
    alive: () => { quiet = 0; },
    rest: () => { quiet = -Infinity; },
    done: () => {
      clearInterval(timer);
      signal?.removeEventListener("abort", pass);
    },
  };
}

export function asConnectionError(cause: unknown, offset: number): unknown {
  if (cause instanceof NanoembedError) return cause;
  return new NanoembedError("connection_lost", `the connection broke after ${offset} bytes: ${cause}`, { offset, cause });
}

export interface Attempt extends Watch {
  response: Response;
}

async function attempt(
  address: string | URL | Request,
  offset: number,
  etag: string | undefined,
  signal: AbortSignal | undefined,
  stall: number,
): Promise<Attempt> {
  const watched = watch(signal, stall);
  let response: Response | undefined;
  try {
    const request = new Request(address);
    // `if-range` would have other origins asked first whether it may be sent, which most of them refuse.
    if (offset > 0) request.headers.set("range", `bytes=${offset}-`);
    response = await fetch(request, { signal: watched.signal });
    if (offset > 0) checkRest(response, offset, etag);
    return { response, ...watched };
  } catch (error) {
    watched.done();
    void response?.body?.cancel().catch(() => {});
    signal?.throwIfAborted();
    const isSilent = offset === 0 && !watched.signal.aborted && !(error instanceof NanoembedError);
    if (isSilent) throw await requestFailure(address, error);
    throw asConnectionError(watched.signal.aborted ? watched.signal.reason : error, offset);
  }
}

/** Refuses an answer that is not the rest of the same file. */
function checkRest(response: Response, offset: number, etag: string | undefined): void {
  bodyOf(response);
  const range = response.headers.get("content-range") ?? "";
  const isSame = etag === undefined || response.headers.get("etag") === etag;
  if (isSame && (response.status === 200 || range.startsWith(`bytes ${offset}-`))) return;
  throw new NanoembedError("source_changed", "the file changed meanwhile", { offset });
}

export const pause = (milliseconds: number, signal?: AbortSignal) =>
  unlessAborted(new Promise((over) => setTimeout(over, milliseconds)), signal);

/** What becomes of `work`, which nobody waits for any more when the signal aborts. */
export const unlessAborted = <T>(work: T | Promise<T>, signal?: AbortSignal) =>
  new Promise<T>((resolve, reject) => {
    const stop = () => reject(signal!.reason);
    signal?.addEventListener("abort", stop);
    void Promise.resolve(work).then(resolve, reject).then(() => signal?.removeEventListener("abort", stop));
  });
