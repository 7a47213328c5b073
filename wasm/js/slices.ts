// Long work in slices: a generator pauses wherever a slice may end.
import { SLICE, yieldToPage } from "./event-loop.js";

/** Work that may be interrupted: what it gives counts for nothing, what it returns is the result. */
export type Work<T> = Generator<void, T>;

/** All of it in one go. */
export function atOnce<T>(work: Work<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** The same, and the page draws and listens in between. `check` may end it there, by an error. */
export async function inSlices<T>(work: Work<T>, check?: () => void): Promise<T> {
  for (;;) {
    const end = performance.now() + SLICE;
    do {
      const { done, value } = work.next();
      if (done) return value;
    } while (performance.now() < end);
    await yieldToPage();
    check?.();
  }
}
