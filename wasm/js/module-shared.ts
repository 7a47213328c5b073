import type { EncoderFileGlue, Encoders } from "./encoders.js";
import { Engine, hasRelaxedSimd, type ModuleSource } from "./engine.js";
import glue from "./generated/shared.js";

/** An encoder whose model other threads may have, too. */
export interface SharedEncoders extends Encoders {
  /** Lets other threads take the model, by the name that is returned. */
  offer(): number;
}

/** What the module for threads has. */
export interface SharedGlue extends EncoderFileGlue {
  Encoders: (new (reader: ConstructorParameters<EncoderFileGlue["Encoders"]>[0], requantize?: boolean) => SharedEncoders) & {
    /** The model that another thread offers. */
    take(name: number): SharedEncoders;
    /** Ends an offer. */
    withdraw(name: number): void;
  };
}

/** What threads need to run in the same memory. */
export interface Seat {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
}

/** As much as the linker gives the first thread. */
const STACK_BYTES = 1 << 20;

/** A module whose memory threads share: the first one makes it, the others join. */
export class SharedEngine extends Engine<SharedGlue> {
  readonly #seats: { own?: Seat; given?: Seat };

  constructor(make: () => unknown, locate: () => ModuleSource) {
    const seats: { own?: Seat; given?: Seat } = {};
    super(() => {
      const made = make() as SharedGlue;
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

/** Encoders of all families in `.weights` files, in memory that threads share; with relaxed SIMD where that is there. */
// Bundlers find the modules by the form of these lines: the addresses must stand there as they are.
export const shared: SharedEngine = /* @__PURE__ */ new SharedEngine(glue, () =>
  hasRelaxedSimd()
    ? new URL("./nanoembed-shared-relaxed.wasm", import.meta.url)
    : new URL("./nanoembed-shared.wasm", import.meta.url),
);
