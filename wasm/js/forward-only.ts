import { NanoembedError } from "./errors.js";
import { within, type Parts } from "./parts.js";
import { limits, read, type FetchOptions } from "./source.js";

/** The parts of a stream in their order: what lies between them is passed over. */
export function forwardOnly(stream: ReadableStream<Uint8Array>, size: number | undefined, options: FetchOptions): Parts {
  const { signal, stall } = limits(options);
  // Pieces with buffers of their own: some are kept while the next are read.
  const reader = stream.getReader();
  // Each piece is waited for where it is asked for: a timer for all of them would keep a program from its end.
  const iterator = read(reader, { signal: signal ?? new AbortController().signal, alive() {}, rest() {} });
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
          const next = await within(iterator.next(), stall);
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
      // The iterator would hear of it after the piece that it waits for.
      void reader.cancel().catch(() => {});
    },
  };
}
