// Work of one program, one after the other.
import type { Locked } from "./index-store.js";

export function queue(): Locked {
  let last: Promise<unknown> = Promise.resolve();
  return (_, run) => {
    const own = last.then(run);
    last = own.catch(() => {});
    return own;
  };
}
