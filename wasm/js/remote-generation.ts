// What a model that continues texts gives of a worker.
import type { GenerateOptions, Generated, GeneratedToken } from "./causal.js";
import type { Held } from "./remote.js";

/** The tokens that a worker generates, as they come. */
export async function* generated(
  held: Held, prompt: string, options: GenerateOptions = {},
): AsyncGenerator<GeneratedToken, Generated, undefined> {
  const waiting: GeneratedToken[] = [];
  let wake = () => {};
  const tell = (token: GeneratedToken) => {
    waiting.push(token);
    wake();
  };
  // Whoever stops to iterate stops the worker, too.
  const stop = new AbortController();
  const pass = () => stop.abort(options.signal?.reason);
  if (options.signal?.aborted) pass();
  options.signal?.addEventListener("abort", pass);
  let isOver = false;
  const asked = held.call<Generated>("generate", [prompt], { ...options, signal: stop.signal }, tell);
  const settled = () => {
    isOver = true;
    wake();
  };
  asked.then(settled, settled);
  try {
    for (;;) {
      const token = waiting.shift();
      if (token) yield token;
      else if (isOver) return await asked;
      else await new Promise<void>((resolve) => (wake = resolve));
      options.signal?.throwIfAborted();
    }
  } finally {
    options.signal?.removeEventListener("abort", pass);
    if (!isOver) stop.abort();
  }
}
