// The segments of an index, in the order in which they were written: by this page, and by others that have the same index open.
import { NanoembedError } from "./errors.js";
import { openStore, type IndexStore, type KeptStore, type Locked, type Store } from "./index-store.js";
import { queue } from "./queue.js";
import { decoding, encoding, type Segment } from "./segment.js";
import { inSlices, type Work } from "./slices.js";

/** A segment's name says which numbers it stands for: `from-to`, both included, several once segments were merged. */
interface Range {
  name: string;
  from: number;
  to: number;
}

/** Segments of about one size are merged when there are so many of them. */
const MERGED = 16;
/** A segment is of about one size with others if it has not so many times as many bytes as all after it. */
const SIMILAR = 4;

const PATTERN = /^(\d{14})-(\d{14})$/;
const nameOf = (from: number, to: number) => [from, to].map((each) => String(each).padStart(14, "0")).join("-");

/** What segments are told to. */
export interface Reading {
  apply(segment: Segment): void;
  /** All that was applied is gone: another page has deleted the index. */
  reset(): void;
}

export class SegmentLog {
  /** Nothing where nothing is kept. */
  readonly #store: Store | undefined;
  readonly #locked: Locked;
  /** What errors call the index. */
  readonly #title: string;
  readonly #reading: Reading;
  #first = 0;
  #applied = 0;
  #isStale = true;
  /** Bytes of segments, as far as they are known. */
  readonly #sizes = new Map<string, number>();
  #isClosed = false;

  private constructor(title: string, store: Store | undefined, locked: Locked, reading: Reading) {
    [this.#title, this.#store, this.#locked, this.#reading] = [title, store, locked, reading];
    store?.onTold(() => (this.#isStale = true));
  }

  static async open(kind: IndexStore, name: string, title: string, reading: Reading): Promise<SegmentLog> {
    if (kind === "memory") return new SegmentLog(title, undefined, queue(), reading);
    const store = await openStore(kind, name);
    return new SegmentLog(title, store, store.locked, reading);
  }

  /** Takes over what was written since the last time, if something was. */
  async refresh(): Promise<void> {
    if (this.#isStale && this.#store) await this.#alone("shared", () => this.#takeOver(this.#store!));
  }

  /** Writes a segment, and takes it over once it is kept: what `make` gives when all before it is known; nothing if it is not wanted. */
  async append(make: () => Segment | undefined): Promise<void> {
    await this.#alone("exclusive", async () => {
      const store = this.#store;
      const before = store ? await this.#takeOver(store) : [];
      const segment = make();
      if (!segment) return;
      if (!store) return this.#reading.apply(segment);
      // Numbers go on from a time, so that those of an index that was deleted do not come again.
      const number = before.length > 0 ? before.at(-1)!.to + 1 : Date.now();
      const name = nameOf(number, number);
      await this.#write(store, name, segment);
      // It is kept, and there is nobody any more to take it over.
      if (this.#isClosed) return;
      if (before.length === 0) this.#first = number;
      this.#applied = number;
      this.#reading.apply(segment);
      store.tell();
      await this.#merge(store, [...before, { name, from: number, to: number }]);
    });
  }

  /** What is being written is kept as a whole, or not at all; nothing is applied any more. */
  close(): void {
    this.#isClosed = true;
    this.#store?.close();
  }

  /** Runs something under the lock; once this is closed, whatever fails does because of that. */
  async #alone<T>(mode: "shared" | "exclusive", run: () => Promise<T>): Promise<T> {
    try {
      return await this.#locked(mode, () => {
        this.#check();
        return run();
      });
    } catch (error) {
      this.#check();
      throw error;
    }
  }

  #check(): void {
    if (this.#isClosed) throw closed(this.#title);
  }

  /** Work between whose slices this may be closed. */
  #inSlices<T>(work: Work<T>): Promise<T> {
    return inSlices(work, () => this.#check());
  }

  async #write(store: Store, name: string, segment: Segment): Promise<void> {
    const bytes = await this.#inSlices(encoding(segment));
    await store.write(name, bytes);
    this.#sizes.set(name, bytes.length);
  }

  /** Reads what is new; gives all segments that count. */
  async #takeOver(store: Store): Promise<Range[]> {
    this.#isStale = false;
    try {
      const there = counting(await store.names());
      if (this.#applied > 0 && there[0]?.from !== this.#first) {
        this.#reading.reset();
        [this.#first, this.#applied] = [0, 0];
      }
      for (const { name, from, to } of there) {
        if (to <= this.#applied) continue;
        const segment = await this.#read(store, name);
        this.#check();
        // It stands for all that there was, and does not say what of that is gone.
        if (from === this.#first) this.#reading.reset();
        if (segment) this.#reading.apply(segment);
        this.#first ||= from;
        this.#applied = to;
      }
      return there;
    } catch (error) {
      this.#isStale = true;
      throw error;
    }
  }

  async #read(store: Store, name: string): Promise<Segment | undefined> {
    const bytes = await store.read(name);
    this.#sizes.set(name, bytes?.length ?? 0);
    try {
      return bytes && (await this.#inSlices(decoding(bytes)));
    } catch (cause) {
      if (!(cause instanceof NanoembedError) || this.#isClosed) throw cause;
      const { code, offset } = cause;
      const message = `segment ${name} of ${this.#title} is damaged, and with it what it adds: ${cause.message}; deleteIndex() makes room for another`;
      throw new NanoembedError(code, message, { cause, ...(offset === undefined ? {} : { offset }) });
    }
  }

  /**
   * Makes one segment of those at the end that are of about one size, and removes those that do not count any more: in slices, as
   * there may be 100,000 passages.
   */
  async #merge(store: Store, there: Range[]): Promise<void> {
    let [start, sum] = [there.length, 0];
    while (start > 0) {
      const size = this.#sizes.get(there[start - 1]!.name) ?? 0;
      if (sum > 0 && size > SIMILAR * sum) break;
      sum += size;
      start -= 1;
    }
    const merged = there.slice(start);
    if (merged.length < MERGED) return;
    try {
      const segments: Segment[] = [];
      for (const { name } of merged) segments.push(...[await this.#read(store, name)].filter((segment) => segment !== undefined));
      const { merging } = await import("./merging.js");
      const name = nameOf(merged[0]!.from, merged.at(-1)!.to);
      await this.#write(store, name, await this.#inSlices(merging(segments, start === 0)));
      const old = (await store.names()).filter((each) => each !== name && !counting([each, name]).some((range) => range.name === each));
      await store.remove(old);
      for (const each of old) this.#sizes.delete(each);
    } catch {
      // There is no room for both, or the index was closed: all stays as it is.
    }
  }
}

/** What is said of an index that was closed. */
export const closed = (title: string) => new NanoembedError("disposed", `${title} was closed`);

/** The segments that count, in their order: those that were merged into another do not. */
function counting(names: readonly string[]): Range[] {
  const ranges = names.flatMap((name) => {
    const [, from, to] = PATTERN.exec(name) ?? [];
    return from === undefined ? [] : [{ name, from: Number(from), to: Number(to) }];
  });
  // The larger of two that begin together comes first.
  ranges.sort((a, b) => a.from - b.from || b.to - a.to);
  let last = 0;
  return ranges.filter(({ to }) => {
    const counts = to > last;
    last = Math.max(last, to);
    return counts;
  });
}

/** Deletes all segments of an index. */
export async function deleteSegments(kind: KeptStore, name: string): Promise<void> {
  const store = await openStore(kind, name);
  await store.locked("exclusive", async () => store.remove(await store.names()));
  store.tell();
  store.close();
}
