/**
 * An embedding function for LanceDB, which importing this registers as `nanoembed`, and a reranker.
 *
 * @module
 */
import { rerankers } from "@lancedb/lancedb";
import { TextEmbeddingFunction, register } from "@lancedb/lancedb/embedding";
import { modelAt, pathOf } from "./addressed.js";
import { takeRows } from "./arrow-rows.js";
import type { Reranker } from "./encoders.js";
import { check, checkNames } from "./errors.js";
import type { SentenceModel } from "./sentences.js";
import type { Address } from "./source.js";

export interface NanoembedFunctionOptions {
  /**
   * The address of a sentence model, as `load` takes it. The table keeps it. `"$var:NAME"` is LanceDB's variable of this name.
   */
  path: string | Address;
}

/**
 * Vectors of a sentence model, with its prompts for questions and for documents.
 *
 * ```js
 * const embedding = await getRegistry().get("nanoembed").create({ path: "all-MiniLM-L6-v2.int8.weights" });
 * const schema = LanceSchema({ text: embedding.sourceField(), vector: embedding.vectorField() });
 * ```
 */
export class NanoembedFunction extends TextEmbeddingFunction<NanoembedFunctionOptions> {
  readonly #path: string;
  #model: SentenceModel | undefined;

  constructor(options: NanoembedFunctionOptions) {
    super();
    // What Python's function of this name keeps with a table, too.
    checkNames<keyof NanoembedFunctionOptions | "threads">(options ?? {}, { path: true, threads: false });
    const path = pathOf(options?.path, 'create({ path: "model.weights" })');
    this.#path = this.resolveVariables({ path }).path as string;
  }

  override async init(): Promise<void> {
    this.#model = await modelAt(this.#path);
  }

  override ndims(): number {
    check(this.#model !== undefined, 'the model is not loaded: await getRegistry().get("nanoembed").create(…)');
    return this.#model.dims;
  }

  async generateEmbeddings(texts: string[]): Promise<Float32Array[]> {
    return (await (await modelAt(this.#path)).embedDocuments(texts)).rows;
  }

  override async computeQueryEmbeddings(text: string): Promise<Float32Array> {
    return (await (await modelAt(this.#path)).embedQuery(text)).data;
  }
}

export interface NanoembedRerankerOptions {
  /** A reranker, or one that is still being loaded. */
  model: Reranker | Promise<Reranker>;
  /** The column with the texts. Default: `text`. */
  column?: string;
}

type Rows = Awaited<ReturnType<rerankers.Reranker["rerankHybrid"]>>;

/** What LanceDB calls the score that a reranker gives. */
const RELEVANCE = "_relevance_score";

/** And those of searches. */
const SEARCHED = ["_score", "_distance"];

/**
 * Results of a hybrid search by how well their texts answer, the best first; `_relevance_score` has the score. A null is an empty
 * text.
 *
 * ```js
 * const reranker = new NanoembedReranker({ model: load("/bge-reranker-base/", { kind: "reranker" }) });
 * const found = await table.query().fullTextSearch(question).nearestTo(vector).rerank(reranker).limit(3).toArray();
 * ```
 */
export class NanoembedReranker implements rerankers.Reranker {
  readonly #model: Reranker | Promise<Reranker>;
  readonly #column: string;

  constructor(options: NanoembedRerankerOptions) {
    checkNames<keyof NanoembedRerankerOptions>(options, { model: true, column: true });
    this.#model = options.model;
    this.#column = options.column ?? "text";
  }

  async rerankHybrid(query: string, vecResults: Rows, ftsResults: Rows): Promise<Rows> {
    // Which puts both together, each row once.
    const merged = await (await rerankers.RRFReranker.create()).rerankHybrid(query, vecResults, ftsResults);
    if (merged.numRows === 0) return merged;
    const texts = merged.getChild(this.#column);
    check(texts !== null, `the results have no column ${this.#column}: select it, or name that of the texts: { column }`);
    const ranks = await (await this.#model).rerank(query, Array.from(texts, (text: string | null) => text ?? ""));
    return reordered(merged, ranks);
  }
}

/** Rows in the order of `ranks`, with their scores, and without those of the searches, which are not comparable. */
function reordered({ schema, data, constructor }: Rows, ranks: readonly { index: number; score: number }[]): Rows {
  const order = ranks.map(({ index }) => index);
  const scores = Float32Array.from(ranks, ({ score }) => score);
  const columns = schema.names.flatMap((name, at) => {
    const column = data.children[at]!;
    if (name === RELEVANCE) return column.clone(column.type, 0, scores.length, 0, [undefined, scores], []);
    return SEARCHED.includes(name) ? [] : takeRows(column, order);
  });
  // Its `RecordBatch.select` leaves holes.
  const kept = schema.select(schema.names.filter((name) => !SEARCHED.includes(name)));
  // LanceDB writes those alone that its own copy of Arrow has made.
  const Struct = data.type.constructor as new (fields: unknown) => typeof data.type;
  const Batch = constructor as new (schema: unknown, data: unknown) => Rows;
  return new Batch(kept, data.clone(new Struct(kept.fields), 0, order.length, 0, [], columns));
}

register("nanoembed")(NanoembedFunction);
