/** What is asked of a worker, and its answers. */
import { NanoembedError, check, checkIsObject } from "./errors.js";
import { fromPlain, type Answer, type Question } from "./protocol.js";

interface Waiting {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** Ends the question; whatever comes of it is of no interest any more. */
  end(reason: unknown): void;
  onProgress: ((progress: never) => void) | undefined;
}

export interface Ask {
  handle?: number;
  args?: unknown[];
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: never) => void) | undefined;
  transfer?: Transferable[];
}

/** Something that a worker keeps. */
interface Kept {
  handle: number;
}

export class Thread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #ids = 0;
  #failed: NanoembedError | undefined;

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<Answer>) => this.#hear(data);
    worker.onerror = (event) => {
      // Node has the error itself.
      event.preventDefault?.();
      const why = event.message ?? "its file, worker-thread.js or shared-thread.js, could not be loaded";
      this.end(new NanoembedError("worker_failed", `the worker failed: ${why}`));
    };
  }

  /**
   * Hears of a worker that ends without a word, for which there is no event: it holds a lock for as long as it lives. Where there
   * are no locks, outside of secure contexts, nobody hears of it.
   */
  async watch(): Promise<void> {
    const { locks } = globalThis.navigator ?? {};
    if (!locks) return;
    const name = `nanoembed ${crypto.randomUUID()}`;
    await this.ask("hold", { args: [name] });
    await locks.request(name, () => this.end(new NanoembedError("worker_failed", "the worker has ended")));
  }

  /** How many questions have no answer yet; of a thread that failed nobody should ask anything. */
  get load(): number {
    return this.#failed ? Infinity : this.#waiting.size;
  }

  #hear(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    if (!waiting) return;
    if ("progress" in answer) {
      try {
        waiting.onProgress?.(answer.progress as never);
      } catch (error) {
        waiting.end(error);
      }
      return;
    }
    this.#waiting.delete(answer.id);
    if ("error" in answer) waiting.reject(fromPlain(answer.error));
    else waiting.resolve(answer.value);
  }

  /** Asks for what the worker keeps under a handle. It is disposed of if nobody waits for it any more when it is there. */
  keep<T extends Kept>(op: string, ask: Ask): Promise<T> {
    return this.ask<T>(op, ask, ({ handle }) => this.drop(handle));
  }

  /** Disposes of something. */
  drop(handle: number): void {
    this.ask("dispose", { handle }).catch(() => {});
  }

  /** `unwanted` is given an answer that comes when the signal, or `onProgress` by an error, has ended the question. */
  async ask<T>(op: string, { handle, args = [], signal, onProgress, transfer = [] }: Ask = {}, unwanted?: (value: T) => void): Promise<T> {
    if (this.#failed) throw this.#failed;
    check(signal === undefined || typeof signal.addEventListener === "function", "signal must be an AbortSignal");
    signal?.throwIfAborted();
    this.#ids += 1;
    const id = this.#ids;
    return new Promise<T>((resolve, reject) => {
      let isEnded = false;
      const end = (reason: unknown) => {
        isEnded = true;
        this.#worker.postMessage({ id, op: "cancel", args: [] } satisfies Question);
        reject(reason as Error);
      };
      const stop = () => end(signal!.reason);
      const settle = () => signal?.removeEventListener("abort", stop);
      this.#waiting.set(id, {
        resolve(value) {
          settle();
          if (isEnded) unwanted?.(value as T);
          resolve(value as T);
        },
        reject(error) {
          settle();
          reject(error as Error);
        },
        end,
        onProgress,
      });
      signal?.addEventListener("abort", stop);
      const question: Question = { id, op, args, ...(handle === undefined ? {} : { handle }) };
      try {
        this.#worker.postMessage(question, transfer);
      } catch (error) {
        this.#waiting.delete(id);
        settle();
        reject(error as Error);
      }
    });
  }

  end(reason: NanoembedError): void {
    this.#failed ??= reason;
    this.#worker.terminate();
    for (const waiting of this.#waiting.values()) waiting.reject(this.#failed);
    this.#waiting.clear();
  }
}

/** What each of the threads keeps. Where one of them fails, the others dispose of theirs. */
export async function keptByAll<T extends Kept>(threads: Thread[], asked: Promise<T>[]): Promise<T[]> {
  try {
    return await Promise.all(asked);
  } catch (error) {
    for (const [at, one] of asked.entries()) one.then(({ handle }) => threads[at]!.drop(handle), () => {});
    throw error;
  }
}

/** What a question carries of options, signals and callbacks being carried otherwise. */
export function plain<T extends object>(options: T): Record<string, unknown> {
  checkIsObject(options);
  const { signal, onProgress, ...rest } = options as T & Record<"signal" | "onProgress", unknown>;
  return { ...rest, wantsProgress: onProgress !== undefined };
}
