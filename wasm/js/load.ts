import type { CacheKind } from "./cache.js";
import { NanoembedError, checkNames } from "./errors.js";
import type { Sink } from "./sink.js";
import { FETCH, addressOf, located, pause, pieces, unlessAborted, type FetchOptions, type Pieces, type Progress, type Source } from "./source.js";

export interface LoadOptions extends FetchOptions {
  /** Is told of progress after every piece. */
  onProgress?: (progress: Progress) => void;
  /**
   * Keeps the download for the next visit. Only for addresses; a full store never fails the load. Default: nowhere.
   *
   * The server is not asked again while a copy can be loaded: give another version of the file another address, or its
   * `integrity`, or clear the copies: `caches.delete("nanoembed")`, or the folder `nanoembed` of the private file system.
   */
  cache?: CacheKind | false;
  /** What the file's SHA-256 must be, as in `<script integrity>`: `"sha256-…"`. The format's own checksums are always checked. */
  integrity?: string;
  /** What a stranger's file or folder may take: what is larger is refused (`too_large`) before it has been taken into memory. */
  limits?: {
    /**
     * Bytes of the file, or of all files of a folder, its texts included: counted as they arrive, and after they are decompressed.
     * Default 2 GB.
     */
    maxBytes?: number;
  };
}

/** Refuses options of `load` that are not known; the entry has some `more`. */
export function checkLoad<More extends string>(options: LoadOptions, more: Record<More, true>): void {
  checkNames<keyof LoadOptions | More>(options, { ...FETCH, onProgress: true, cache: true, integrity: true, limits: true, ...more });
  checkNames<keyof NonNullable<LoadOptions["limits"]>>(options.limits ?? {}, { maxBytes: true }, "limits.");
}

/** How many bytes all files of a model may have. */
export const mostBytes = (options: LoadOptions): number => options.limits?.maxBytes ?? 2e9;

/** The bytes that may still come: of a file, or of all files of a folder, which arrive side by side. */
export interface Allowance {
  /** What may have so many, for messages. */
  readonly of: string;
  readonly most: number;
  left: number;
}

/** All that `options` allow. */
export const allowanceOf = (options: LoadOptions, of: string): Allowance => ({ of, most: mostBytes(options), left: mostBytes(options) });

/** How a file is brought. */
interface Bringing extends LoadOptions {
  /** What it may take, where it is one of several. */
  allowance?: Allowance;
}

/** Brings a file into a sink, from a cache if it is there. Aborts the sink if anything goes wrong. */
export const bring = async <S extends Sink>(source: Source, open: () => S, options: Bringing): Promise<S> =>
  (await bringIfThere(source, () => pieces(source, options), open, options))!;

/** The same of what a caller named, whose errors say what to do about it where that is known. */
export const bringNamed = <S extends Sink>(source: Source, open: () => S, options: Bringing): Promise<S> =>
  bring(source, open, options).catch(async (error: unknown) => {
    (await import("./hint.js").catch(() => undefined))?.hint(error as Error, source);
    throw error;
  });

/** The same of a file that may be missing: `begin` gives its bytes then, or nothing. */
export async function bringIfThere<S extends Sink>(
  source: Source | undefined,
  begin: () => Promise<Pieces | undefined>,
  open: () => S,
  options: Bringing,
): Promise<S | undefined> {
  const { integrity, retries = 3 } = options;
  const compare = integrity === undefined ? undefined : (await import("./integrity.js")).comparing(integrity);
  const address = addressOf(source);
  const filled = async (from: Pieces, phase: "download" | "cache") => fill(from, open(), phase, options, compare);
  const explained = <T>(brought: Promise<T>) => brought.catch((error: unknown) => {
    throw located(error, source);
  });
  const tried = async (left: number): Promise<S | undefined> => {
    const from = await begin();
    try {
      return from && (await filled(from, "download"));
    } catch (error) {
      if (!from?.beginsAgain || left === 0 || !/^(connection_lost|timed_out)$/.test((error as NanoembedError).code)) throw error;
    }
    await pause((1 << (retries - left)) * 250, options.signal);
    return tried(left - 1);
  };
  const fresh = () => explained(tried(retries));
  if (!options.cache || address === undefined) return fresh();
  const { throughCache } = await import("./cache.js");
  const again = (kept: Pieces) => explained(filled(kept, "cache"));
  return throughCache(options.cache, address, again, fresh, options.signal);
}

async function fill<S extends Sink>(
  source: Pieces,
  sink: S,
  phase: "download" | "cache",
  options: Bringing,
  compare: ((sink: Sink) => Promise<void>) | undefined,
): Promise<S> {
  const { signal, onProgress, allowance = allowanceOf(options, "the file") } = options;
  const check = (bytes: number) => {
    if (!(bytes <= allowance.left)) throw new NanoembedError("too_large", `${allowance.of} has more than ${allowance.most} bytes`);
  };
  const total = source.size;
  let loaded = 0;
  try {
    check(total ?? 0);
    if (total !== undefined) await sink.reserve(total);
    onProgress?.({ loaded, total, phase });
    for await (const piece of source) {
      signal?.throwIfAborted();
      check(piece.length);
      allowance.left -= piece.length;
      loaded += piece.length;
      // A piece may have to wait for the module that takes it.
      await unlessAborted(sink.write(piece), signal);
      onProgress?.({ loaded, total, phase });
    }
    signal?.throwIfAborted();
    await sink.finish();
    await compare?.(sink);
    signal?.throwIfAborted();
    onProgress?.({ loaded, total: loaded, phase: "ready" });
    return sink;
  } catch (error) {
    source.close?.();
    sink.abort();
    allowance.left += loaded;
    throw error;
  }
}
