// What an index of documents is to those who use it.
import type { IndexStore } from "./index-store.js";
import type { ChunkOptions } from "./passages.js";
import type { EmbedOptions, EmbedProgress, SentenceModel } from "./sentences.js";
import type { QuantizedVectors } from "./vectors.js";

export interface IndexOptions {
  /** What embeds documents and questions, here or in workers. The index does not dispose of it. */
  model: SentenceModel;
  /** Where the index is kept. Default: `memory`, until it is closed. */
  store?: IndexStore;
  /**
   * Which of the kept ones; two pages that name the same have the same. Default: `default`. In a `folder` it is the folder's path, which
   * one program at a time has open.
   */
  name?: string;
  /**
   * `int8` compares a question with every vector. `binary` compares signs first, and then those that are most alike in 8 bits:
   * faster from some 100,000 passages on, and it may miss some. Both keep the same. Default: `int8`.
   */
  vectors?: "int8" | "binary";
  /** The model's name, which an index that is kept has to have, too. Without it only the vectors tell that a model is another. */
  modelName?: string;
  /** How long texts are cut. */
  chunk?: ChunkOptions;
  /** Whether the texts are kept, too. Default: true; otherwise hits say where passages are, and not what they say. */
  keepTexts?: boolean;
  /** Keeps only the first elements of vectors, for models trained for it. */
  truncateDim?: number;
}

/** What is searched. `Metadata` is what your documents have of it. */
export interface IndexDocument<Metadata = any> {
  /** A document that is added under an id that is there takes its place. */
  id: string;
  text: string;
  /** What JSON can say. */
  metadata?: Metadata | undefined;
}

export interface AddOptions extends Pick<EmbedOptions, "signal"> {
  /** Is told how many documents are kept: these stay, whatever comes. */
  onProgress?: (progress: AddProgress) => void;
  /** Is told how many passages of those that are kept next have their vectors. */
  onEmbedded?: (progress: EmbedProgress) => void;
}

/** What has been kept. */
export interface AddProgress {
  documents: number;
  passages: number;
}

export interface IndexSearchOptions<Metadata = any> extends Pick<EmbedOptions, "signal"> {
  /** How many passages are wanted. Default: 10. */
  k?: number;
  /**
   * How passages are found: by the meaning of a question and the words that they share with it, as `nanoembed search` does, or by one
   * of these. Words need texts that are kept. Default: `both`; `meaning` for a vector, and where texts are not kept.
   */
  by?: "both" | "meaning" | "words";
  /**
   * The share of meaning in the scores of `both`, from 0 to 1. Default: 0.7, or less for all-MiniLM-L6-v2, which knows English, where
   * a question is in another language, or it or the passages are in other letters than Latin ones.
   */
  weight?: number;
  /** Which documents may be found. */
  filter?: (document: { id: string; metadata: Metadata | undefined }) => boolean;
}

/** A part of a document. */
export interface IndexPassage<Metadata = any> {
  /** The document's. */
  id: string;
  /** Where the passage lies in the document: `text.slice(start, end)`. */
  start: number;
  end: number;
  /** What it says, if texts are kept. */
  text: string | undefined;
  metadata: Metadata | undefined;
}

/** A passage that was found. */
export interface IndexHit<Metadata = any> extends IndexPassage<Metadata> {
  /**
   * How well it answers, the larger the better: by `both` from 0 to 1, where 1 is the best by meaning as well as by words; by `words`
   * that of BM25; by `meaning` the similarity.
   */
  score: number;
  /**
   * The dot product of question and passage: for vectors of length 1, the cosine of the angle between them. `undefined` where passages
   * are found by words alone.
   */
  similarity: number | undefined;
}

/** What is in an index. */
export interface IndexContents<Metadata = any> {
  passages: IndexPassage<Metadata>[];
  vectors: QuantizedVectors;
}

/** Documents in passages, and their vectors. */
export interface SearchIndex<Metadata = any> {
  /** How many documents there are. */
  readonly documents: number;
  /** How many passages they have. */
  readonly passages: number;
  /** The memory that vectors take. */
  readonly memoryBytes: number;
  /**
   * Adds documents. They are kept part by part, each as a whole: what `onProgress` was told of stays, even if the page is closed.
   *
   * @throws NanoembedError `quota_exceeded` if the browser has no more room
   */
  add(
    documents: IndexDocument<Metadata> | Iterable<IndexDocument<Metadata>> | AsyncIterable<IndexDocument<Metadata>>, options?: AddOptions,
  ): Promise<AddProgress>;
  /** Removes documents; gives how many of them there were. */
  remove(ids: string | readonly string[]): Promise<number>;
  /** The passages that answer a question, or are nearest to its vector, the best first. */
  search(question: string | Float32Array, options?: IndexSearchOptions<Metadata>): Promise<IndexHit<Metadata>[]>;
  /** Whether there is a document of that id. */
  has(id: string): Promise<boolean>;
  /** A document, if there is one and its text is kept. */
  get(id: string): Promise<IndexDocument<Metadata> | undefined>;
  /** All passages, and their vectors in the same order, as `topK` takes them. */
  contents(): Promise<IndexContents<Metadata>>;
  /** The documents' ids, in the order in which they were added. */
  ids(): Promise<string[]>;
  /** All of it, for `import`. */
  export(): Promise<Uint8Array<ArrayBuffer>>;
  /** Adds what `export` gave. */
  import(bytes: Uint8Array | ArrayBuffer): Promise<AddProgress>;
  /**
   * Frees memory; what is kept stays. Whatever is under way fails with `disposed`: of an `add` there is what `onProgress` was told
   * of, and of what was being written all or nothing.
   */
  close(): void;
}
