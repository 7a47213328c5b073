// What a pool does with a file whose model its workers may share: the first worker opens it, the others take the model.
import type { LoadOptions } from "./api.js";
import { TELLING_BYTES, joined } from "./formats.js";
import type { RemoteSink } from "./pool.js";
import type { Described } from "./remote.js";
import type { Sink } from "./sink.js";
import type { Thread } from "./thread.js";

/** A sink into the first worker, and into the others too if the file turns out to be none that they share. */
export class SharingSink implements Sink {
  readonly #threads: Thread[];
  readonly #others: () => RemoteSink;
  readonly #first: RemoteSink;
  #rest: RemoteSink | undefined;
  /** What came before it was enough; nothing is kept when it was. */
  #start: Uint8Array | undefined = new Uint8Array();
  #size = 0;

  /** `open` gives a sink into some of the workers, which may share the file's model or not. */
  constructor(threads: Thread[], open: (threads: Thread[], isShared?: boolean) => RemoteSink) {
    this.#threads = threads;
    this.#others = () => open(threads.slice(1));
    this.#first = open(threads.slice(0, 1), true);
  }

  reserve(bytes: number): Promise<void> {
    this.#size = bytes;
    return this.#first.reserve(bytes);
  }

  async write(piece: Uint8Array): Promise<void> {
    if (this.#start) {
      const start = joined(this.#start, piece);
      // The piece is another's before the next one comes.
      if (start.length < TELLING_BYTES) this.#start = start.slice();
      else await this.#begin(start);
    } else {
      await Promise.all([this.#first.write(piece), this.#rest?.write(piece)]);
    }
  }

  /** Asks the first worker whether the file is one to share, of what is there. */
  async #begin(start: Uint8Array): Promise<void> {
    this.#start = undefined;
    await this.#first.write(start);
    if (!(await this.#isShared())) await this.#open(start);
  }

  async #isShared(): Promise<boolean> {
    const [isShared] = await this.#first.all<boolean>("shares");
    return isShared!;
  }

  /** The other workers take the file in for themselves, from here on. */
  async #open(start: Uint8Array): Promise<void> {
    this.#rest = this.#others();
    if (this.#size > 0) await this.#rest.reserve(this.#size);
    await this.#rest.write(start);
  }

  async finish(): Promise<void> {
    if (this.#start) await this.#begin(this.#start);
    await this.#first.finish();
    // Its module may have found that the file is for another.
    if (!this.#rest && !(await this.#isShared())) await this.#open(await this.bytes());
    await this.#rest?.finish();
  }

  bytes(): Promise<Uint8Array> {
    return this.#first.bytes();
  }

  abort(): void {
    this.#first.abort();
    this.#rest?.abort();
  }

  /** Each worker's model of the file that has arrived. */
  models(options: LoadOptions): Promise<Described>[] {
    const [own] = this.#first.models(options) as [Promise<Described>];
    return [own, ...(this.#rest?.models(options) ?? this.#taken(own))];
  }

  /** The first worker's model in each of the others, when none of them needs the offer any more. */
  #taken(own: Promise<Described>): Promise<Described>[] {
    const [first, ...others] = this.#threads as [Thread, ...Thread[]];
    const offer = own.then(({ handle }) => first.ask<unknown>("offer", { handle }));
    const taken = others.map(async (thread) => thread.ask<Described>("take", { args: [await offer] }));
    const isOver = Promise.allSettled(taken).then(async () => first.ask("withdraw", { args: [await offer] }));
    return taken.map(async (one) => {
      await isOver;
      return one;
    });
  }
}
