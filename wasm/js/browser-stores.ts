// What browsers keep segments in: files, and databases.
import { NanoembedError } from "./errors.js";
import type { KeptStore, Segments, Store } from "./index-store.js";

const NAME = "nanoembed-index";

/** Opens the segments of an index. */
export async function openBrowserStore(kind: KeptStore, name: string): Promise<Store> {
  const segments = await (kind === "opfs" ? inFiles(name) : inDatabase(name));
  const key = `nanoembed-index ${kind} ${name}`;
  const channel = new BroadcastChannel(key);
  return {
    ...segments,
    write: (each, bytes) => segments.write(each, bytes).catch((cause: unknown) => {
      throw writeFailure(cause, bytes.length);
    }),
    locked: (mode, run) => navigator.locks.request(key, { mode }, run) as never,
    tell: () => channel.postMessage(undefined),
    onTold: (run) => channel.addEventListener("message", run),
    close() {
      channel.close();
      segments.close();
    },
  };
}

/** What a store that could not write says: nothing of that segment is kept. */
function writeFailure(cause: unknown, bytes: number): NanoembedError {
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
async function inFiles(name: string): Promise<Segments> {
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
/** Copying a record keeps the page busy: a larger segment is a record of its size, and records of so many bytes after it. */
const RECORD_BYTES = 1 << 22;

const partOf = (name: string, part: number) => `${name} ${String(part).padStart(6, "0")}`;

/** Puts a segment, one record after the other. */
function put(all: IDBObjectStore, name: string, bytes: Uint8Array<ArrayBuffer>): void {
  if (bytes.length <= RECORD_BYTES) return void all.put(bytes, name);
  all.put(bytes.length, name);
  const next = (part: number) => {
    const at = part * RECORD_BYTES;
    // Of a view all that lies around it would be put.
    if (at < bytes.length) all.put(bytes.slice(at, at + RECORD_BYTES), partOf(name, part)).onsuccess = () => next(part + 1);
  };
  next(0);
}

/** A database an index, a record a segment, or several of a large one. */
async function inDatabase(name: string): Promise<Segments> {
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
    names: async () => ((await answer(segments().getAllKeys())) as string[]).filter((key) => !key.includes(" ")),
    async read(each) {
      const whole = (await answer(segments().get(each))) as Uint8Array | number | undefined;
      if (typeof whole !== "number") return whole;
      const bytes = new Uint8Array(whole);
      for (let part = 0; part * RECORD_BYTES < whole; part += 1) {
        const some = (await answer(segments().get(partOf(each, part)))) as Uint8Array | undefined;
        if (!some) return undefined;
        bytes.set(some, part * RECORD_BYTES);
      }
      return bytes;
    },
    write: (each, bytes) => change((all) => put(all, each, bytes)),
    remove: (names) => change((all) => names.forEach((each) => all.delete(IDBKeyRange.bound(each, partOf(each, 999_999))))),
    close: () => database.close(),
  };
}

function answer<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
