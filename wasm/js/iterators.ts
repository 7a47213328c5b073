/** Tells an iterator that no more is wanted of it. Not waited for: a source that is silent hears of it when it wakes. */
export function leave(iterator: Iterator<unknown> | AsyncIterator<unknown>): void {
  // What it throws, at once or later, nobody asks for any more.
  void (async () => iterator.return?.())().catch(() => {});
}
