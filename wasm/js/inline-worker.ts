/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The same as `nanoembed/worker`, with the worker's code and the modules inside the JavaScript: nothing is fetched. Larger by
 * a third, and without relaxed SIMD. A policy needs `worker-src blob:`.
 *
 * @module
 */
import { createPool, nodeWorker, workerOf, type WorkerOptions, type WorkerPool } from "./pool.js";
// What the build makes of inline-thread.ts.
import thread from "inline-thread";

export * from "./exports.js";
export type { WorkerOptions, WorkerPool } from "./pool.js";

/** Starts workers. */
export const createWorker = (options?: WorkerOptions): WorkerPool => createPool(() => nodeWorker(thread, { eval: true }) ?? workerOf(thread), options);
