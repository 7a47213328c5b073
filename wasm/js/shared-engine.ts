import { Engine, type Glue, type ModuleSource, type Reader } from "./engine.js";

/** A model that other threads may have, too. */
export interface Shareable {
  /** Lets other threads take the model, by the name that is returned. */
  offer(): number;
}

/** A module's class of models that threads may share. */
export interface ShareableClass<M> {
  new (reader: Reader, requantize?: boolean): M & Shareable;
  /** The model that another thread offers. */
  take(name: number): M & Shareable;
  /** Ends an offer. */
  withdraw(name: number): void;
}

/** What threads need to run in the same memory. */
export interface Seat {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
}

/** As much as the linker gives the first thread. */
const STACK_BYTES = 1 << 20;

/** A module whose memory threads share: the first one makes it, the others join. */
export class SharedEngine<G extends Glue = Glue> extends Engine<G> {
  readonly #seats: { own?: Seat; given?: Seat };

  constructor(make: () => unknown, locate: () => ModuleSource) {
    const seats: { own?: Seat; given?: Seat } = {};
    super(() => {
      const made = make() as G;
      return {
        ...made,
        imports: () => made.imports(seats.given?.memory),
        start(instance: WebAssembly.Instance, module: WebAssembly.Module) {
          seats.own = { module, memory: instance.exports["memory"] as WebAssembly.Memory };
          return made.start(instance, module, seats.given && STACK_BYTES);
        },
      };
    }, locate);
    this.#seats = seats;
  }

  /** What others need to join. */
  get seat(): Seat | undefined {
    return this.#seats.own;
  }

  /** Starts the module in another thread's memory, unless it has been started. */
  join(given: Seat): Promise<this> {
    if (!this.#seats.own) this.#seats.given = given;
    return this.ready({ module_or_path: given.module });
  }

  /** The size of the memory that another thread counts. */
  get joinedBytes(): number {
    return this.#seats.own ? this.#seats.given?.memory.buffer.byteLength ?? 0 : 0;
  }
}
