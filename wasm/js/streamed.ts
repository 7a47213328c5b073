import { yieldToPage } from "./event-loop.js";
import { NanoembedError, check, checkNames } from "./errors.js";
import { leave } from "./iterators.js";
import { EMBED, type EmbedOptions, type PartOptions, type SentenceModel, type StreamOptions, type StreamedEmbedding } from "./sentences.js";
import { unlessAborted } from "./source.js";

type Texts = Iterable<string> | AsyncIterable<string>;

/** Embeds the texts of an iterable as they come: up to `size` at a time, and those that are there when the next is to be waited for. */
export async function* streamed(
  model: SentenceModel,
  texts: Texts,
  size: number,
  options: StreamOptions,
): AsyncGenerator<StreamedEmbedding, void, undefined> {
  const { out, onProgress } = options as EmbedOptions;
  check((options.vectors ?? "dense") === "dense", "a stream is of dense vectors");
  check(!out && !onProgress, "a stream takes neither out nor onProgress: each text comes with a vector of its own");
  checkNames<Exclude<keyof PartOptions, "start">>(options, { ...EMBED, out: false, onProgress: false, role: false });
  let index = 0;
  for await (const batch of batches(texts, size, options.signal)) {
    const part: PartOptions = { ...options, start: index };
    const { rows, dims, tokens, truncated } = await model.embed(batch, part);
    for (const [at, text] of batch.entries()) {
      const vector = rows[at]!.slice();
      yield { index: index++, text, data: vector, dims, tokens: tokens[at]!, truncated: truncated[at]! };
    }
  }
}

async function* batches(texts: Texts, size: number, signal?: AbortSignal): AsyncGenerator<string[]> {
  signal?.throwIfAborted();
  const { iterator, late } = iteratorOf(texts);
  const next = async () => iterator.next();
  let coming = next();
  try {
    for (;;) {
      signal?.throwIfAborted();
      const batch: string[] = [];
      let ready: IteratorResult<string> | void = await unlessAborted(coming, signal);
      while (ready && !ready.done) {
        batch.push(ready.value);
        coming = next();
        // Whoever waits for a vector before the next text gets it, also when there is an error instead of that.
        const settled = coming.catch(() => {});
        ready = batch.length < size ? await Promise.race(late ? [settled, yieldToPage()] : [settled]) : undefined;
      }
      if (batch.length > 0) yield batch;
      if (ready?.done) return;
    }
  } finally {
    leave(iterator);
  }
}

/** `late` is whether texts may have to be waited for. */
function iteratorOf(texts: Texts): { iterator: Iterator<string> | AsyncIterator<string>; late: boolean } {
  if (typeof texts !== "string") {
    const { [Symbol.asyncIterator]: late, [Symbol.iterator]: early } = texts as AsyncIterable<string> & Iterable<string>;
    const iterate = late ?? early;
    if (iterate) return { iterator: iterate.call(texts), late: late !== undefined };
  }
  throw new NanoembedError("invalid_argument", "texts must be an iterable of strings, and is none");
}
