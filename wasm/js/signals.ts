/** Aborted as soon as one of both is. */
export function either(one: AbortSignal, other: AbortSignal | undefined): AbortSignal {
  if (!other) return one;
  if (typeof AbortSignal.any === "function") return AbortSignal.any([one, other]);
  // Browsers that run the modules, and have no such function.
  const both = new AbortController();
  for (const signal of [one, other]) {
    if (signal.aborted) both.abort(signal.reason);
    signal.addEventListener("abort", () => both.abort(signal.reason), { signal: both.signal });
  }
  return both.signal;
}
