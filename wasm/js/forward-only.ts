import { NanoembedError } from "./errors.js";
import type { Parts } from "./parts.js";
import { asConnectionError, limits, read, watch, type FetchOptions } from "./source.js";

/** The parts of a stream in their order: what lies between them is passed over. */
export function forwardOnly(stream: ReadableStream<Uint8Array>, size: number | undefined, options: FetchOptions): Parts {
  const { signal, stall } = limits(options);
  // Pieces with buffers of their own: some are kept while the next are read.
  const reader = stream.getReader();
  const iterator = read(reader, signal);
  let rest: Uint8Array = new Uint8Array();
  let at = 0;
  return {
    size,
    async read(offset, bytes) {
      if (offset < at) throw new NanoembedError("not_seekable", "a stream, or a file whose server knows no ranges, cannot be read backwards", { offset });
      const wanted: Uint8Array[] = [];
      let length = 0;
      while (length < bytes) {
        if (rest.length === 0) {
          const next = await within(iterator.next(), stall, at);
          if (next.done) break;
          rest = next.value;
        }
        const skipped = Math.min(rest.length, offset - at);
        at += skipped;
        const taken = rest.subarray(skipped, skipped + bytes - length);
        rest = rest.subarray(skipped + taken.length);
        if (at < offset) continue;
        wanted.push(taken);
        length += taken.length;
        at += taken.length;
        offset = at;
        // Whoever asks for much is content with what is here.
        if (length > 0 && rest.length === 0) break;
      }
      if (wanted.length === 1) return wanted[0]!;
      const whole = new Uint8Array(length);
      let end = 0;
      for (const piece of wanted) {
        whole.set(piece, end);
        end += piece.length;
      }
      return whole;
    },
    close() {
      // The iterator would hear of it behind the piece that it waits for.
      void reader.cancel().catch(() => {});
    },
  };
}

/** What `promise` becomes, unless that takes longer than `stall` milliseconds. */
async function within<T>(promise: Promise<T>, stall: number, offset: number): Promise<T> {
  const watched = watch(undefined, stall);
  const stalled = new Promise<never>((_, reject) =>
    watched.signal.addEventListener("abort", () => reject(asConnectionError(watched.signal.reason, offset))));
  try {
    return await Promise.race([promise, stalled]);
  } finally {
    watched.done();
  }
}
