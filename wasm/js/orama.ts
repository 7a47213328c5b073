/**
 * A plugin for Orama: documents get vectors when they are inserted, and questions when they are asked.
 *
 * @module
 */
import { check, checkNames } from "./errors.js";
import type { SentenceModel } from "./sentences.js";

export interface EmbeddingPluginOptions {
  /** A sentence model, or one that is still being loaded. */
  model: SentenceModel | Promise<SentenceModel>;
  /** The properties whose texts make the vector, in this order; `meta.title` is one within another. A document needs one of them. */
  texts: readonly string[];
  /** The property that takes it: `vector[384]` in the schema, for a model of 384 dimensions. Default `embeddings`. */
  property?: string;
}

/** What Orama takes among its `plugins`. */
export interface EmbeddingPlugin {
  name: string;
  beforeInsert(db: unknown, id: string, document: unknown): Promise<void>;
  beforeInsertMultiple(): Promise<void>;
  beforeSearch(db: unknown, params: unknown): Promise<void>;
}

/** What of a search matters here. */
interface Search {
  mode?: string;
  term?: string;
  vector?: { property: string; value: number[] };
}

/** What is under a name, which may lead through other properties. */
const within = (document: unknown, name: string): unknown =>
  name.split(".").reduce((at, part) => (at as Record<string, unknown> | undefined)?.[part], document);

/** The plugin. Documents that have a vector keep it, and so do questions. */
export function embeddingPlugin(options: EmbeddingPluginOptions): EmbeddingPlugin {
  const { model, texts, property = "embeddings" } = options;
  checkNames<keyof EmbeddingPluginOptions>(options, { model: true, texts: true, property: true });
  async function complete(_db: unknown, _id: string, given: unknown): Promise<void> {
    const document = given as Record<string, unknown>;
    if (document[property] !== undefined) return;
    const parts = texts.map((name) => within(document, name)).filter((part) => part !== undefined);
    check(parts.length > 0, `a document has none of the properties that make its vector: ${texts.join(", ")}`);
    const { data } = await (await model).embedDocuments([parts.join(" ")]);
    document[property] = Array.from(data);
  }
  return {
    name: "nanoembed",
    beforeInsert: complete,
    // Orama waits for documents, inserted together, only where this is asynchronous.
    async beforeInsertMultiple() {},
    async beforeSearch(_db, params) {
      const search = params as Search;
      if ((search.mode !== "vector" && search.mode !== "hybrid") || search.vector?.value) return;
      check(typeof search.term === "string", "a search by vectors needs a term, or a vector of its own");
      const { data } = await (await model).embedQuery(search.term);
      search.vector = { property: search.vector?.property ?? property, value: Array.from(data) };
    },
  };
}
