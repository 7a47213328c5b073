/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The same in workers: the page stays free, and several texts are embedded at once.
 *
 * No headers are needed: a download happens once, and its pieces go to every worker. Where a page is cross-origin isolated, workers
 * share most models in place of that.
 *
 * @module
 */
import { NanoembedError } from "./errors.js";
import { createPool, nodeWorker, workerOf, type WorkerOptions, type WorkerPool } from "./pool.js";
import { original } from "./vite.js";

export * from "./exports.js";
export type { WorkerOptions, WorkerPool } from "./pool.js";

const NO_WORKER = "no worker can be made of the package's file here: say with `create` how to make one, of `nanoembed/worker-thread.js`, " +
  "or take `nanoembed/inline-worker`";

/** Starts a worker with the package's own file. */
function start(isShared: boolean): Worker {
  const file = import.meta.url?.replace(/[^/]*$/, `${isShared ? "shared" : "worker"}-thread.js`) ?? "";
  const own = nodeWorker(file);
  if (own) return own;
  const moved = original(file);
  if (moved) return new Worker(moved, { type: "module" });
  try {
    return isShared
      ? new Worker(new URL("./shared-thread.js", import.meta.url), { type: "module" })
      : new Worker(new URL("./worker-thread.js", import.meta.url), { type: "module" });
  } catch (cause) {
    // Another origin's file, as a CDN's is, cannot be started, but a page's own can import it.
    const isForeign = (cause as Partial<DOMException>).name === "SecurityError";
    if (!isForeign) throw new NanoembedError("worker_failed", NO_WORKER, { cause });
    return workerOf(`import ${JSON.stringify(file)};`, { type: "module" });
  }
}

/** Starts workers. Their file is loaded now, the module when something is first asked of them. */
export const createWorker = (options?: WorkerOptions): WorkerPool => createPool(start, options);
