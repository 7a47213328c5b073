// Workers of pages, in Node.
import { Worker as Thread } from "node:worker_threads";

const bootstrap = `
  const { parentPort, workerData } = require("node:worker_threads");
  globalThis.postMessage = (message, transfer) => parentPort.postMessage(message, transfer);
  import(workerData).then(() => parentPort.on("message", (data) => globalThis.onmessage({ data })));
`;

/** A worker that runs a file of the package. */
export class NodeWorker {
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onerror: ((event: { message: string; preventDefault(): void }) => void) | null = null;
  readonly #thread: Thread;

  constructor(file: URL) {
    this.#thread = new Thread(bootstrap, { eval: true, workerData: file.href });
    this.#thread.on("message", (data) => this.onmessage?.({ data }));
    this.#thread.on("error", ({ message }) => this.fail(message));
  }

  postMessage(message: unknown, transfer: Transferable[] = []): void {
    this.#thread.postMessage(message, transfer as never);
  }

  /** Ends, as after an error that nobody caught. */
  fail(message: string): void {
    this.terminate();
    this.onerror?.({ message, preventDefault() {} });
  }

  terminate(): void {
    void this.#thread.terminate();
  }
}
