/**
 * An index of documents that are searched by meaning: in memory, or kept in the browser from visit to visit.
 *
 * @module
 */
import { pageYielder } from "./event-loop.js";
import { NanoembedError, check, checkNames } from "./errors.js";
import type {
  AddOptions, AddProgress, IndexContents, IndexDocument, IndexHit, IndexOptions, IndexSearchOptions, SearchIndex,
} from "./indexed.js";
import { missing, type IndexStore, type KeptStore } from "./index-store.js";
import { passagesOf, type ChunkOptions, type Place } from "./passages.js";
import { Rows } from "./index-rows.js";
import { leave } from "./iterators.js";
import type { PassageRanking } from "./passage-ranking.js";
import { decoding, encoding, type ModelMark, type Segment, type StoredDocument } from "./segment.js";
import { closed, deleteSegments, SegmentLog } from "./segment-log.js";
import type { EmbedOptions, SentenceModel } from "./sentences.js";
import { inSlices } from "./slices.js";
import { either } from "./signals.js";
import { unlessAborted } from "./source.js";
import { quantizeVectors, similarity } from "./vectors.js";

export { NanoembedError } from "./errors.js";
export type {
  AddOptions, AddProgress, IndexContents, IndexDocument, IndexHit, IndexOptions, IndexPassage, IndexSearchOptions, SearchIndex,
} from "./indexed.js";
export type { ChunkOptions } from "./passages.js";
export type { IndexStore } from "./index-store.js";

/** What is embedded to see whether vectors are of the same model. */
const PROBE = "Which model is this? Bread is made of flour, water and salt.";
const PROBE_DIMS = 32;
/** Those of one model, however its weights are quantised, differ by less; those of two are about 0 and, by chance, ± 0.2. */
const LEAST_SIMILAR = 0.9;
/** So many passages, and the rest of their document, are embedded and kept together. */
const TOGETHER = 256;
/** Rows of documents that are gone are given up when there are so many, and more of them than others. */
const MOST_DEAD = 4096;

/**
 * Opens an index, with what is kept of it. `Metadata` is what its documents have; nothing compares it with what is kept.
 *
 * @throws NanoembedError `other_model` if it was made with another model, `store_unavailable` where nothing can be kept
 */
export async function createIndex<Metadata = any>(options: IndexOptions): Promise<SearchIndex<Metadata>> {
  const { model, store = "memory", name = "default", vectors = "int8", keepTexts = true, truncateDim, modelName = "" } = options;
  checkNames<keyof IndexOptions>(options, {
    model: true, store: true, name: true, vectors: true, modelName: true, chunk: true, keepTexts: true, truncateDim: true,
  });
  checkNames<keyof ChunkOptions>(options.chunk ?? {}, { tokens: true, overlap: true, paragraphs: true }, "chunk.");
  check(["memory", "indexeddb", "opfs", "folder"].includes(store), 'store must be "memory", "indexeddb", "opfs" or "folder"');
  check(store !== "folder" || options.name !== undefined, "name must be the path of the folder");
  check(["int8", "binary"].includes(vectors), 'vectors must be "int8" or "binary"');
  check(typeof name === "string" && name !== "", "name must be a string with characters");
  const error = missing(store);
  if (error) throw error;
  const embedding = truncateDim === undefined ? {} : { truncateDim };
  const { data, dims, tokens } = await model.embedDocuments([PROBE], embedding);
  const bare = await model.tokenize(PROBE, { prompt: "" });
  const prompt = Math.max(0, tokens[0]! - bare.total);
  const most = model.maxTokens;
  const { tokens: wanted = most, overlap = Math.floor(wanted / 8), paragraphs = false } = options.chunk ?? {};
  const least = 8 + prompt;
  check(Number.isInteger(wanted) && wanted >= least && wanted <= most, `chunk.tokens must be ${least} to ${most}`);
  check(Number.isInteger(overlap) && overlap >= 0 && 2 * overlap <= wanted, "chunk.overlap must be at most half of chunk.tokens");
  const index = new Index({
    model, keepTexts, embedding, title: store === "memory" ? "the index" : `the index "${name}"`,
    mark: { name: modelName, dims, probe: [...data.subarray(0, PROBE_DIMS)] },
    makeRows: () => new Rows(dims, vectors === "binary"),
    cut(text, signal) {
      const yieldIfDue = pageYielder();
      return passagesOf(text, { tokens: wanted, overlap, paragraphs }, async (part) => {
        await yieldIfDue();
        signal.throwIfAborted();
        return (await model.tokenize(part, { prompt: "" })).total + prompt;
      });
    },
  });
  await index.open(store, name);
  return index;
}

/** Deletes an index that is kept. Pages that have it open find nothing any more. */
export async function deleteIndex(store: KeptStore, name = "default"): Promise<void> {
  const error = missing(store);
  if (error) throw error;
  await deleteSegments(store, name);
}

/** What an index is made of. */
interface Parts {
  model: SentenceModel;
  keepTexts: boolean;
  embedding: Pick<EmbedOptions, "truncateDim">;
  title: string;
  mark: ModelMark;
  makeRows(): Rows;
  /** The passages of a text; the signal ends it. */
  cut(text: string, signal: AbortSignal): Promise<Place[]>;
}

/** A document, and the row of its first passage. */
interface Held extends StoredDocument {
  first: number;
}

class Index implements SearchIndex {
  readonly #parts: Parts;
  #rows: Rows;
  #held = new Map<string, Held>();
  /** Rows by their words, as soon as somebody has asked for that. */
  #ranking: PassageRanking | undefined;
  /** The document of each row. */
  #owners: (Held | undefined)[] = [];
  #log: SegmentLog | undefined;
  /** Ends what is under way when the index is closed. */
  readonly #closing = new AbortController();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#rows = parts.makeRows();
  }

  async open(store: IndexStore, name: string): Promise<void> {
    const log = await SegmentLog.open(store, name, this.#parts.title, { apply: (segment) => this.#apply(segment), reset: () => this.#reset() });
    this.#log = log;
    try {
      await log.refresh();
    } catch (error) {
      log.close();
      throw error;
    }
  }

  get documents(): number {
    return this.#held.size;
  }

  get passages(): number {
    return this.#rows.live;
  }

  get memoryBytes(): number {
    return this.#rows.bytes;
  }

  add(documents: IndexDocument | Iterable<IndexDocument> | AsyncIterable<IndexDocument>, options: AddOptions = {}): Promise<AddProgress> {
    return this.#whileOpen(() => this.#add(documents, options));
  }

  async #add(documents: IndexDocument | Iterable<IndexDocument> | AsyncIterable<IndexDocument>, options: AddOptions): Promise<AddProgress> {
    const { onProgress } = options;
    checkNames<keyof AddOptions>(options, { signal: true, onProgress: true, onEmbedded: true });
    const signal = either(this.#closing.signal, options.signal);
    check(typeof documents === "object" && documents !== null, SEVERAL);
    const all = isDocument(documents) ? [documents] : documents;
    check(Symbol.iterator in all || Symbol.asyncIterator in all, SEVERAL);
    const done: AddProgress = { documents: 0, passages: 0 };
    const waiting = new Map<string, Cut>();
    let [given, passages] = [0, 0];
    const keep = async () => {
      const segment = await embedded([...waiting.values()], this.#parts, { ...options, signal });
      signal.throwIfAborted();
      await this.#open().append(() => segment);
      done.documents += given;
      done.passages += segment.scales.length;
      waiting.clear();
      given = passages = 0;
      onProgress?.({ ...done });
    };
    for await (const each of unlessSilent(all, signal)) {
      const document = checked(each);
      const text = document.text!;
      const places = await this.#parts.cut(text, signal);
      // Of several with one id the last one counts.
      waiting.delete(document.id);
      waiting.set(document.id, { document: { ...document, passages: places }, texts: places.map(([start, end]) => text.slice(start, end)) });
      given += 1;
      passages += places.length;
      if (passages >= TOGETHER || given >= TOGETHER) await keep();
    }
    if (given > 0) await keep();
    return done;
  }

  remove(ids: string | readonly string[]): Promise<number> {
    return this.#whileOpen(() => this.#remove(ids));
  }

  async #remove(ids: string | readonly string[]): Promise<number> {
    const given = typeof ids === "string" ? [ids] : [...ids];
    let removed: string[] = [];
    await this.#open().append(() => {
      removed = [...new Set(given)].filter((id) => this.#held.has(id));
      return removed.length > 0 ? { ...this.#empty(), removed } : undefined;
    });
    return removed.length;
  }

  search(question: string | Float32Array, options: IndexSearchOptions = {}): Promise<IndexHit[]> {
    return this.#whileOpen(() => this.#search(question, options));
  }

  async #search(question: string | Float32Array, options: IndexSearchOptions): Promise<IndexHit[]> {
    const { k, by, weight, filter, signal, text } = checkedSearch(question, options, this.#parts);
    const log = this.#open();
    const vector = by === "words" ? undefined : await this.#vectorOf(question, signal);
    await log.refresh();
    const ranking = by === "meaning" ? undefined : await this.#ranked(signal);
    this.#open();
    const answers = new Map<Held, boolean>();
    const allowed = (row: number) => {
      const owner = this.#owners[row];
      if (!owner || !filter) return owner !== undefined;
      let answer = answers.get(owner);
      if (answer === undefined) answers.set(owner, (answer = Boolean(filter({ id: owner.id, metadata: owner.metadata }))));
      return answer;
    };
    const rows = this.#rows;
    const hits = ranking ? ranking.search({ text, vector, by, k, weight, mark: this.#parts.mark }, rows, allowed) : rows.search(vector!, k, allowed);
    const similarities = ranking ? vector && rows.scores(vector, hits.map(({ row }) => row)) : hits.map(({ score }) => score);
    return hits.map(({ row, score }, at) => {
      const { id, text, metadata, passages, first } = this.#owners[row]!;
      const [start, end] = passages[row - first]!;
      return { id, score, similarity: similarities?.[at], start, end, text: text?.slice(start, end), metadata: structuredClone(metadata) };
    });
  }

  async #vectorOf(question: string | Float32Array, signal: AbortSignal | undefined): Promise<Float32Array> {
    const { model, mark, embedding } = this.#parts;
    const vector = typeof question === "string" ? (await model.embedQuery(question, signal ? { ...embedding, signal } : embedding)).data : question;
    check(vector.length === mark.dims, `the question has ${vector.length} elements, the index has ${mark.dims}`);
    return vector;
  }

  /** All passages by their words. */
  async #ranked(signal: AbortSignal | undefined): Promise<PassageRanking> {
    const { openRanking } = await import("./passage-ranking.js");
    const open = await openRanking();
    const textOf = (row: number) => {
      const { text, passages, first } = this.#owners[row] ?? {};
      return text?.slice(...passages![row - first!]!);
    };
    for (;;) {
      const [ranking, rows] = [(this.#ranking ??= open()), this.#rows];
      await inSlices(ranking.adding(rows, textOf), () => {
        signal?.throwIfAborted();
        this.#open();
      });
      // Documents may have come meanwhile, or all that there is was put together anew.
      if (ranking === this.#ranking && ranking.count === this.#rows.count) return ranking;
    }
  }

  has(id: string): Promise<boolean> {
    return this.#read(() => this.#held.has(id));
  }

  get(id: string): Promise<IndexDocument | undefined> {
    return this.#read(() => {
      const held = this.#held.get(id);
      return held?.text === undefined ? undefined : { id, text: held.text, metadata: structuredClone(held.metadata) };
    });
  }

  contents(): Promise<IndexContents> {
    return this.#read(() => {
      const { documents, codes, scales, model } = this.#whole();
      const passages = documents.flatMap(({ id, passages, text, metadata }) =>
        passages.map(([start, end]) => ({ id, start, end, text: text?.slice(start, end), metadata: structuredClone(metadata) })));
      return { passages, vectors: { kind: "int8", data: codes, scales, dims: model.dims } };
    });
  }

  ids(): Promise<string[]> {
    return this.#read(() => [...this.#held.keys()]);
  }

  export(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#read(() => inSlices(encoding(this.#whole())));
  }

  import(bytes: Uint8Array | ArrayBuffer): Promise<AddProgress> {
    return this.#whileOpen(() => this.#import(bytes));
  }

  async #import(bytes: Uint8Array | ArrayBuffer): Promise<AddProgress> {
    const segment = await inSlices(decoding(new Uint8Array(bytes).slice()));
    this.#checkModel(segment.model);
    const documents = this.#parts.keepTexts ? segment.documents : segment.documents.map(({ text: _, ...rest }) => rest);
    await this.#open().append(() => ({ ...segment, model: this.#parts.mark, documents, removed: [] }));
    return { documents: documents.length, passages: segment.scales.length };
  }

  close(): void {
    if (!this.#log) return;
    this.#log.close();
    this.#log = undefined;
    this.#reset();
    this.#closing.abort(closed(this.#parts.title));
  }

  #open(): SegmentLog {
    if (!this.#log) throw closed(this.#parts.title);
    return this.#log;
  }

  /** What `run` gives, unless the index is closed before that: then, at once, the error that says so. */
  async #whileOpen<T>(run: () => Promise<T>): Promise<T> {
    this.#open();
    return unlessAborted(run(), this.#closing.signal);
  }

  /** What `read` finds when all is known that was written. */
  #read<T>(read: () => T | Promise<T>): Promise<T> {
    return this.#whileOpen(async () => {
      await this.#open().refresh();
      this.#open();
      return read();
    });
  }

  #reset(): void {
    this.#held.clear();
    this.#owners = [];
    this.#rows = this.#parts.makeRows();
    this.#ranking = undefined;
  }

  #empty(): Segment {
    return { model: this.#parts.mark, removed: [], documents: [], scales: new Float32Array(), codes: new Int8Array() };
  }

  #apply(segment: Segment): void {
    this.#checkModel(segment.model);
    for (const id of segment.removed) this.#forget(id);
    let first = this.#rows.add(segment.codes, segment.scales);
    for (const document of segment.documents) {
      this.#forget(document.id);
      const held: Held = { ...document, first };
      this.#held.set(document.id, held);
      first += document.passages.length;
      for (let row = held.first; row < first; row += 1) this.#owners[row] = held;
    }
    const { count, live } = this.#rows;
    if (count - live > Math.max(MOST_DEAD, live)) {
      const whole = this.#whole();
      this.#reset();
      this.#apply(whole);
    }
  }

  #forget(id: string): void {
    const held = this.#held.get(id);
    if (!held) return;
    this.#held.delete(id);
    for (let at = 0; at < held.passages.length; at += 1) {
      this.#rows.remove(held.first + at);
      this.#ranking?.remove(held.first + at);
      this.#owners[held.first + at] = undefined;
    }
  }

  /** All that there is, in one segment. */
  #whole(): Segment {
    const { dims } = this.#parts.mark;
    const held = [...this.#held.values()];
    const segment = { ...this.#empty(), scales: new Float32Array(this.#rows.live), codes: new Int8Array(this.#rows.live * dims) };
    let to = 0;
    for (const { first, passages } of held) {
      for (let row = first; row < first + passages.length; row += 1, to += 1) {
        segment.scales[to] = this.#rows.scaleOf(row);
        segment.codes.set(this.#rows.codesOf(row, 1), to * dims);
      }
    }
    segment.documents = held.map(({ first: _, ...document }) => document);
    return segment;
  }

  #checkModel({ name, dims, probe }: ModelMark): void {
    const { title, mark } = this.#parts;
    const called = (each: string, size: number) => `${each ? `"${each}"` : "a model"} (${size} elements)`;
    const isOther = dims !== mark.dims || (name !== "" && mark.name !== "" && name !== mark.name) || cosine(probe, mark.probe) < LEAST_SIMILAR;
    if (!isOther) return;
    const alike = name === mark.name && dims === mark.dims ? ", whose vectors are others" : "";
    throw new NanoembedError("other_model", `${title} holds vectors of ${called(name, dims)}, and this is ${called(mark.name, mark.dims)}${alike}: ` +
      "load that model, take another name, or deleteIndex() and add all again");
  }
}

/** The options of a search, and the question as a text where words count. */
function checkedSearch(question: string | Float32Array, options: IndexSearchOptions, { keepTexts }: Parts) {
  const hasWords = typeof question === "string" && keepTexts;
  const { k = 10, by = hasWords ? "both" : "meaning", weight, filter, signal } = options;
  checkNames<keyof IndexSearchOptions>(options, { k: true, by: true, weight: true, filter: true, signal: true });
  check(Number.isInteger(k) && k >= 1, "k must be 1 or more");
  check(["both", "meaning", "words"].includes(by), 'by must be "both", "meaning" or "words"');
  check(by === "meaning" || hasWords, `by: "${by}" needs a question in words, and texts that are kept`);
  check(weight === undefined || (weight >= 0 && weight <= 1), "weight must be 0 to 1");
  return { k, by, weight, filter, signal, text: hasWords ? question : "" };
}

/** A document in passages, and what they say. */
interface Cut {
  document: StoredDocument;
  texts: string[];
}

/** The segment of documents, with their vectors. */
async function embedded(cut: readonly Cut[], { model, embedding, mark, keepTexts }: Parts, options: AddOptions): Promise<Segment> {
  const { signal, onEmbedded } = options;
  const texts = cut.flatMap(({ texts }) => texts);
  const { data } = await model.embedDocuments(texts, {
    ...embedding, ...(signal ? { signal } : {}), ...(onEmbedded ? { onProgress: onEmbedded } : {}),
  });
  const { data: codes, scales } = quantizeVectors(data, mark.dims, "int8");
  const documents = cut.map(({ document: { text, ...rest } }) => (keepTexts ? { ...rest, text: text! } : rest));
  return { model: mark, removed: [], documents, scales: scales!, codes: codes as Int8Array };
}

/** The documents as they come. The signal ends it, also where none comes; the source then hears that no more are wanted. */
async function* unlessSilent(
  documents: Iterable<IndexDocument> | AsyncIterable<IndexDocument>, signal: AbortSignal,
): AsyncGenerator<IndexDocument, void, undefined> {
  const { [Symbol.asyncIterator]: late, [Symbol.iterator]: early } = documents as AsyncIterable<IndexDocument> & Iterable<IndexDocument>;
  const iterator = (late ?? early).call(documents);
  let isOver = false;
  try {
    for (;;) {
      signal.throwIfAborted();
      const { done, value } = await unlessAborted(iterator.next(), signal);
      isOver = done === true;
      if (isOver) return;
      yield value as IndexDocument;
    }
  } finally {
    if (!isOver) leave(iterator);
  }
}

const isDocument = (given: object): given is IndexDocument => "id" in given && "text" in given;

const SEVERAL = "documents must be one { id, text }, or an array or stream of them";

/** A document as it will be read again. */
function checked(document: IndexDocument): StoredDocument {
  const { id, text, metadata } = document ?? {};
  check(typeof id === "string" && id !== "", "a document's id must be a string with characters");
  check(typeof text === "string", `the text of document "${id}" must be a string`);
  try {
    const json = JSON.stringify(metadata) as string | undefined;
    return { id, text, passages: [], ...(json === undefined ? {} : { metadata: JSON.parse(json) as unknown }) };
  } catch (cause) {
    throw new NanoembedError("invalid_argument", `the metadata of document "${id}" is nothing that JSON can say: ${String(cause)}`, { cause });
  }
}

function cosine(a: readonly number[], b: readonly number[]): number {
  return a.length === b.length && a.length > 0 ? similarity(a, b) : 0;
}
