/**
 * Word vectors only: finalfusion files, in memory or where they are.
 *
 * @module
 */
import type { InitOptions } from "./engine.js";
import { NanoembedError, checkNames } from "./errors.js";
import { bring, checkLoad, mostBytes, type LoadOptions as BaseOptions } from "./load.js";
import { slim } from "./module-slim.js";
import { MemorySink } from "./sink.js";
import { unlessAborted, type Source } from "./source.js";
import { loadWords, openWith, type WordOptions, type WordVectors } from "./words.js";

export { NanoembedError } from "./errors.js";
export { quantizeVectors, similarity, topK, type Hit, type QuantizedVectors } from "./vectors.js";
export type { InitOptions, ModuleSource } from "./engine.js";
export type { CacheKind } from "./cache.js";
export type { Address, FetchOptions, Phase, Progress, Source } from "./source.js";
export type { Neighbour, SearchOptions, WordOptions, WordVector, WordVectors } from "./words.js";

export interface LoadOptions extends BaseOptions, Pick<WordOptions, "duplicates"> {}

/** Loads the module now, or from elsewhere than the package's own file. Otherwise the first call does. */
export async function init(options?: InitOptions): Promise<void> {
  checkNames<keyof InitOptions>(options ?? {}, { module_or_path: true });
  await slim.ready(options);
}

/** Loads word vectors into memory. */
export async function load(source: Source, options: LoadOptions = {}): Promise<WordVectors> {
  checkLoad(options, { duplicates: true });
  options.signal?.throwIfAborted();
  await unlessAborted(slim.ready(), options.signal);
  const sink = await bring(source, () => new MemorySink(slim, mostBytes(options)), options);
  if (sink.format !== "finalfusion") {
    sink.abort();
    throw new NanoembedError("wrong_kind", "the file holds no word vectors");
  }
  return loadWords(slim, sink.take(), options);
}

/** Opens word vectors in a file that stays where it is: a `Blob`, or an address whose server answers range requests. */
export const open = (source: Source, options?: WordOptions): Promise<WordVectors> => openWith(slim, source, options);
