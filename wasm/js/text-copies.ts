// The texts of a folder that is kept: all of them in one copy, with those that are not there, so that nothing is asked for again.
import { blamesCopy, checkKind, keep, recall, type CacheKind } from "./cache.js";
import type { FolderTexts } from "./folder.js";

/**
 * What `load` makes of the texts that are kept of a folder, or of none, which it then adds to: they are kept when the model is there, so
 * that nothing stays of a folder that was not whole.
 */
export async function throughKeptTexts<M>(
  kind: CacheKind,
  address: string,
  load: (texts: FolderTexts) => Promise<M>,
  signal?: AbortSignal,
): Promise<M> {
  checkKind(kind);
  const kept = await recalled(kind, address, signal);
  if (kept) {
    try {
      return await load(kept);
    } catch (error) {
      if (!blamesCopy(error)) throw error;
      // What there is now takes its place.
    }
  }
  const texts: FolderTexts = new Map();
  const model = await load(texts);
  const entries = [...texts].map(([path, text]) => [path, text ?? null]);
  await keep(kind, address, new TextEncoder().encode(JSON.stringify(entries)));
  return model;
}

async function recalled(kind: CacheKind, address: string, signal?: AbortSignal): Promise<FolderTexts | undefined> {
  const pieces = await recall(kind, address, signal);
  if (!pieces) return undefined;
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const piece of pieces) text += decoder.decode(piece, { stream: true });
    const entries = JSON.parse(text + decoder.decode()) as [string, string | null][];
    return new Map(entries.map(([path, text]) => [path, text ?? undefined]));
  } catch {
    signal?.throwIfAborted();
    return undefined;
  }
}
