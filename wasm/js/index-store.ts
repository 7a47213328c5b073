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
  /** Is done when the segment will be there after a crash; fails with what a person can do about it. */
  write(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  remove(names: readonly string[]): Promise<void>;
  close(): void;
}

/** What only kept indices need is loaded when there is one. */
export async function openStore(kind: KeptStore, name: string): Promise<Store> {
  try {
    const { openBrowserStore } = await import("./browser-stores.js");
    return await openBrowserStore(kind, name);
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
