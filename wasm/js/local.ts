import { disposeSymbol } from "./dispose.js";
import { NanoembedError } from "./errors.js";

/** What models in this thread have: one inside a module, until they are disposed of. */
export class Local<M extends { free(): void }> {
  #model: M | undefined;

  constructor(model: M) {
    this.#model = model;
  }

  /** The model inside the module. */
  open(): M {
    if (!this.#model) throw new NanoembedError("disposed", "the model was disposed of");
    return this.#model;
  }

  dispose(): void {
    this.#model?.free();
    this.#model = undefined;
  }

  [disposeSymbol](): void {
    this.dispose();
  }
}
