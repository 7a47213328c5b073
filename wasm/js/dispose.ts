/** Polyfilled where it is missing: symbols are all that `using` needs. */
export const disposeSymbol: typeof Symbol.dispose =
  (Symbol.dispose as typeof Symbol.dispose | undefined) ?? (Symbol.for("Symbol.dispose") as never);

/** The model, whose warnings the console is told. */
export function warned<T extends object>(model: T): T {
  (model as { warnings?: string[] }).warnings?.forEach((warning) => console.warn(`nanoembed: ${warning}`));
  return model;
}

/** What was made, unless the signal ended the wish for it meanwhile: then it is disposed of. */
export function unlessUnwanted<T extends { dispose(): void }>(made: T, signal: AbortSignal | undefined): T {
  if (signal?.aborted) made.dispose();
  signal?.throwIfAborted();
  return made;
}
