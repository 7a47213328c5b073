// One model for all that want the same.
import type { Progress } from "./source.js";
import { unlessAborted } from "./source.js";

type Loads<M> = (options: { signal: AbortSignal; onProgress: (progress: Progress) => void }) => Promise<M>;

/** Loads a model when it is first wanted, and disposes of it when nobody wants it any more. */
export class SharedModel<M extends { dispose(): void }> {
  readonly #load: Loads<M>;
  readonly #heard = new Set<(progress: Progress) => void>();
  #model: Promise<M> | undefined;
  #abort = new AbortController();
  #users = 0;
  #isReady = false;

  constructor(load: Loads<M>) {
    this.#load = load;
  }

  get state(): "absent" | "loading" | "ready" {
    return this.#isReady ? "ready" : this.#model ? "loading" : "absent";
  }

  /** The model, which is wanted until `release` is called as often. */
  async acquire(signal: AbortSignal | undefined, onProgress: (progress: Progress) => void): Promise<M> {
    this.#users += 1;
    this.#heard.add(onProgress);
    try {
      this.#model ??= this.#start();
      return await unlessAborted(this.#model, signal);
    } catch (error) {
      this.release();
      throw error;
    } finally {
      this.#heard.delete(onProgress);
    }
  }

  async #start(): Promise<M> {
    const { signal } = (this.#abort = new AbortController());
    const model = await this.#load({ signal, onProgress: (progress) => this.#heard.forEach((hear) => hear(progress)) });
    if (signal.aborted) model.dispose();
    else this.#isReady = true;
    return model;
  }

  release(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    this.#abort.abort();
    if (this.#isReady) void this.#model?.then((model) => model.dispose());
    this.#isReady = false;
    this.#model = undefined;
  }
}
