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

/** What only kept indices need is loaded when there is one. */
export async function openStore(kind: KeptStore, name: string): Promise<Store> {
  try {
    const { inDatabase, inFiles } = await import("./browser-stores.js");
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
