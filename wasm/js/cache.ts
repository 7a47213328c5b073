import { NanoembedError, check } from "./errors.js";
import type { Sink } from "./sink.js";
import { pieces, unlessAborted, type Pieces } from "./source.js";

/** Where downloads are kept: by the Cache API, or in the origin private file system. */
export type CacheKind = "cache-api" | "opfs";

const NAME = "nanoembed";

/** Errors that say nothing of a copy. */
const CALLERS = ["invalid_argument", "too_large", "no_crypto", "module_not_loaded"];

/** Whether an error may be that of a copy: damaged, or of another version than what is there now. */
export const blamesCopy = (error: unknown): boolean => error instanceof NanoembedError && !CALLERS.includes(error.code);

export function checkKind(kind: CacheKind): void {
  check(kind === "cache-api" || kind === "opfs", "cache must be `cache-api` or `opfs`");
}

/** What is under way, by where it will be kept. */
const underWay = new Map<string, Promise<unknown>>();

/**
 * Brings a file by `again` from the kept copy, or by `fresh`, which is then kept. Whoever asks for a file that is on its way
 * takes the copy of that.
 */
export function throughCache<S extends Sink>(
  kind: CacheKind,
  address: string,
  again: (kept: Pieces) => Promise<S>,
  fresh: () => Promise<S | undefined>,
  signal?: AbortSignal,
): Promise<S | undefined> {
  checkKind(kind);
  return inTurn(`${kind} ${address}`, async () => {
    signal?.throwIfAborted();
    const kept = await recall(kind, address, signal);
    if (kept) {
      try {
        return await again(kept);
      } catch (error) {
        if (!blamesCopy(error)) throw error;
        // What there is now takes its place, once that is loaded.
      }
    }
    const sink = await fresh();
    if (sink) await keep(kind, address, (await sink.bytes()) as Uint8Array<ArrayBuffer>);
    return sink;
  }, signal);
}

/** Brings one file after the other of those that are kept in the same place. */
function inTurn<S extends Sink | undefined>(key: string, bring: () => Promise<S>, signal?: AbortSignal): Promise<S> {
  const before = underWay.get(key);
  const own = before ? before.then(bring) : bring();
  const settled = own.catch(() => {}).then(() => {
    if (underWay.get(key) === settled) underWay.delete(key);
  });
  underWay.set(key, settled);
  // Nobody takes what arrives after an abort.
  own.then((sink) => signal?.aborted && sink?.abort()).catch(() => {});
  return unlessAborted(own, signal);
}

/** The kept copy of `address`; `undefined` if there is none, or the store cannot be used. */
export async function recall(kind: CacheKind, address: string, signal?: AbortSignal): Promise<Pieces | undefined> {
  try {
    if (kind === "opfs") {
      const handle = await (await folder()).getFileHandle(await fileName(address));
      const file = await handle.getFile();
      return file.size > 0 ? pieces(file, signal ? { signal } : {}) : undefined;
    }
    const response = await (await caches.open(NAME)).match(address);
    return response && pieces(response, signal ? { signal } : {});
  } catch {
    signal?.throwIfAborted();
    return undefined;
  }
}

/** Whether there is a copy of `address`. */
export async function isKept(kind: CacheKind, address: string): Promise<boolean> {
  const kept = await recall(kind, address);
  kept?.close?.();
  return kept !== undefined;
}

/** Keeps a copy. A store that is full or forbidden is no reason to fail: the answer says whether it worked. */
export async function keep(kind: CacheKind, address: string, bytes: Uint8Array<ArrayBuffer>): Promise<boolean> {
  try {
    const blob = new Blob([bytes]);
    if (kind === "opfs") {
      const handle = await (await folder()).getFileHandle(await fileName(address), { create: true });
      const file = await handle.createWritable();
      // What was written appears only when the file is closed.
      await file.write(blob);
      await file.close();
    } else {
      const headers = { "content-length": String(blob.size), "content-type": "application/octet-stream" };
      await (await caches.open(NAME)).put(address, new Response(blob, { headers }));
    }
    return true;
  } catch {
    return false;
  }
}

async function folder(): Promise<FileSystemDirectoryHandle> {
  return (await navigator.storage.getDirectory()).getDirectoryHandle(NAME, { create: true });
}

async function fileName(address: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(new URL(address, location.href).href));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
