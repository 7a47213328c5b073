// Where an index keeps its segments: each is written whole or not at all.
import { NanoembedError } from "./errors.js";
import { builtin } from "./node.js";

/** Where an index is kept: in memory; in the browser, from visit to visit; or in a folder, where there is a file system. */
export type IndexStore = "memory" | KeptStore;
export type KeptStore = "indexeddb" | "opfs" | "folder";

/** Runs something while nobody writes, or while nobody else reads or writes. */
export type Locked = <T>(mode: "shared" | "exclusive", run: () => Promise<T>) => Promise<T>;

/** Segments by name. */
export interface Store extends Segments {
  locked: Locked;
  /** Tells others who have the same segments that something was written or removed. */
  tell(): void;
  /** Calls something whenever others tell that. */
  onTold(run: () => void): void;
}

export interface Segments {
  names(): Promise<string[]>;
  /** `undefined` if there is none, or writing it did not come to its end. */
  read(name: string): Promise<Uint8Array | undefined>;
  /** Is done when the segment will be there after a crash; fails with what a person can do about it. */
  write(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  remove(names: readonly string[]): Promise<void>;
  close(): void;
}

/** What only kept indices need is loaded when there is one. */
export async function openStore(kind: KeptStore, name: string): Promise<Store> {
  try {
    if (kind === "folder") return await (await import("./folder-store.js")).inFolder(name);
    const { openBrowserStore } = await import("./browser-stores.js");
    return await openBrowserStore(kind, name);
  } catch (cause) {
    throw cause instanceof NanoembedError ? cause : unavailable(kind, cause);
  }
}

/** Nothing if there is here what kept indices need. */
export function missing(kind: IndexStore): NanoembedError | undefined {
  if (kind === "memory") return undefined;
  if (kind === "folder") return builtin("node:fs") ? undefined : unavailable(kind, "there is no file system");
  const { navigator, indexedDB } = globalThis as { navigator?: Navigator; indexedDB?: unknown };
  const needs = { "navigator.locks": navigator?.locks, ...(kind === "opfs" ? { "navigator.storage": navigator?.storage?.getDirectory } : { indexedDB }) };
  const [lacking] = Object.entries(needs).find(([, there]) => !there) ?? [];
  return lacking === undefined ? undefined : unavailable(kind, `there is no ${lacking}, which pages of https: and localhost have`);
}

const unavailable = (kind: IndexStore, cause: unknown) =>
  new NanoembedError("store_unavailable", `an index cannot be kept here (${kind}): ${String(cause)}; store: "memory" works everywhere`, { cause });
