// Where an index keeps its segments: each is written whole or not at all.
import { NanoembedError } from "./errors.js";

/** Where an index is kept: in this page's memory, or in the browser, from visit to visit. */
export type IndexStore = "memory" | KeptStore;
export type KeptStore = "indexeddb" | "opfs";

/** Segments by name. */
export interface Store {
  names(): Promise<string[]>;
  /** `undefined` if there is none, or writing it did not come to its end. */
  read(name: string): Promise<Uint8Array | undefined>;
  /** Is done when the segment will be there after a crash. */
  write(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  remove(names: readonly string[]): Promise<void>;
  close(): void;
}

const NAME = "nanoembed-index";

export async function openStore(kind: KeptStore, name: string): Promise<Store> {
  try {
    return await (kind === "opfs" ? inFiles(name) : inDatabase(name));
  } catch (cause) {
    throw unavailable(kind, cause);
  }
}

/** Nothing if the browser has what kept indices need. */
export function missing(kind: IndexStore): NanoembedError | undefined {
  if (kind === "memory") return undefined;
  const { navigator, indexedDB } = globalThis as { navigator?: Navigator; indexedDB?: unknown };
  const needs = { "navigator.locks": navigator?.locks, ...(kind === "opfs" ? { "navigator.storage": navigator?.storage?.getDirectory } : { indexedDB }) };
  const [lacking] = Object.entries(needs).find(([, there]) => !there) ?? [];
  return lacking === undefined ? undefined : unavailable(kind, `there is no ${lacking}, which pages of https: and localhost have`);
}

const unavailable = (kind: IndexStore, cause: unknown) =>
  new NanoembedError("store_unavailable", `an index cannot be kept here (${kind}): ${String(cause)}; store: "memory" works everywhere`, { cause });

/** What a store that could not write says: nothing of that segment is kept. */
export function writeFailure(cause: unknown, bytes: number): NanoembedError {
  // How much room there is browsers do not tell: what they say of it is made up, against fingerprinting.
  return (cause as Error | undefined)?.name === "QuotaExceededError"
    ? new NanoembedError("quota_exceeded", `the browser has no room for ${bytes} bytes more: remove documents, ask for more with ` +
        "navigator.storage.persist(), or export() the index. What was added before is there, and can be searched", { cause })
    : new NanoembedError("write_failed", `the index could not be written: ${String(cause)}`, { cause });
}

async function folder(name: string): Promise<FileSystemDirectoryHandle> {
  const top = await (await navigator.storage.getDirectory()).getDirectoryHandle(NAME, { create: true });
  // Names of files may not have all characters.
  return top.getDirectoryHandle(encodeURIComponent(name).replaceAll(".", "%2e") || "%", { create: true });
}

const SMALL_PART = 1 << 15;

/** Writes a file, so many bytes at a time; it appears when it is closed. */
async function writeFile(place: FileSystemDirectoryHandle, name: string, bytes: Uint8Array<ArrayBuffer>, part: number): Promise<void> {
  const file = await (await place.getFileHandle(name, { create: true })).createWritable();
  try {
    for (let at = 0; at < bytes.length; at += part) await file.write(bytes.subarray(at, at + part));
    await file.close();
  } catch (error) {
    await file.abort().catch(() => {});
    throw error;
  }
}

/** A file a segment. */
async function inFiles(name: string): Promise<Store> {
  const place = await folder(name);
  const remove = async (names: readonly string[]) => {
    for (const each of names) await place.removeEntry(each).catch(() => {});
  };
  return {
    async names() {
      const names: string[] = [];
      for await (const each of place.keys()) names.push(each);
      return names;
    },
    async read(each) {
      const file = await (await place.getFileHandle(each)).getFile();
      // Of a file that was not closed there is only the name.
      return file.size > 0 ? new Uint8Array(await file.arrayBuffer()) : undefined;
    },
    async write(each, bytes) {
      try {
        // Of many bytes at once Chromium does not always say why it takes no more: AbortError in place of QuotaExceededError.
        await writeFile(place, each, bytes, bytes.length).catch(() => writeFile(place, each, bytes, SMALL_PART));
      } catch (error) {
        await remove([each]);
        throw error;
      }
    },
    remove,
    close() {},
  };
}

const SEGMENTS = "segments";

/** A database an index, a record a segment. */
async function inDatabase(name: string): Promise<Store> {
  const opening = indexedDB.open(`${NAME} ${name}`);
  opening.onupgradeneeded = () => opening.result.createObjectStore(SEGMENTS);
  const database = await answer(opening);
  // Somebody deletes it: whoever holds it would keep them waiting.
  database.onversionchange = () => database.close();
  const change = (run: (segments: IDBObjectStore) => void) => new Promise<void>((resolve, reject) => {
    const transaction = database.transaction(SEGMENTS, "readwrite", { durability: "strict" });
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
    run(transaction.objectStore(SEGMENTS));
  });
  const segments = () => database.transaction(SEGMENTS).objectStore(SEGMENTS);
  return {
    names: async () => (await answer(segments().getAllKeys())) as string[],
    read: async (each) => (await answer(segments().get(each))) as Uint8Array | undefined,
    write: (each, bytes) => change((all) => all.put(bytes, each)),
    remove: (names) => change((all) => names.forEach((each) => all.delete(each))),
    close: () => database.close(),
  };
}

function answer<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
