/**
 * Embeddings and a document compressor, which reranks, for LangChain.js.
 *
 * @module
 */
import { Document, type DocumentInterface } from "@langchain/core/documents";
import { Embeddings, type EmbeddingsParams } from "@langchain/core/embeddings";
import { BaseDocumentCompressor } from "@langchain/core/retrievers/document_compressors";
import type { Reranker } from "./encoders.js";
import { check, checkNames } from "./errors.js";
import { rows } from "./rows.js";
import type { SentenceModel } from "./sentences.js";

export interface NanoembedEmbeddingsParams extends EmbeddingsParams {
  /** A sentence model, or one that is still being loaded. */
  model: SentenceModel | Promise<SentenceModel>;
}

/** Vectors of a sentence model, with its prompts for questions and for documents. */
export class NanoembedEmbeddings extends Embeddings {
  readonly #model: SentenceModel | Promise<SentenceModel>;

  constructor({ model, ...params }: NanoembedEmbeddingsParams) {
    super(params);
    checkNames<keyof NanoembedEmbeddingsParams>(params, { model: true, maxConcurrency: true, maxRetries: true, onFailedAttempt: true });
    this.#model = model;
  }

  async embedDocuments(documents: string[]): Promise<number[][]> {
    return rows(await (await this.#model).embedDocuments(documents));
  }

  async embedQuery(document: string): Promise<number[]> {
    return Array.from((await (await this.#model).embedQuery(document)).data);
  }
}

export interface NanoembedRerankerParams {
  /** A reranker, or one that is still being loaded. */
  model: Reranker | Promise<Reranker>;
  /** How many documents are kept. Default: all of them. */
  topN?: number;
}

/** Documents by how well they answer the question, the best first; `metadata.relevanceScore` has the score. */
export class NanoembedReranker extends BaseDocumentCompressor {
  readonly #model: Reranker | Promise<Reranker>;
  readonly #topN: number | undefined;

  constructor(params: NanoembedRerankerParams) {
    super();
    checkNames<keyof NanoembedRerankerParams>(params, { model: true, topN: true });
    const { model, topN } = params;
    check(topN === undefined || (Number.isInteger(topN) && topN > 0), "topN must be 1 or more");
    this.#model = model;
    this.#topN = topN;
  }

  async compressDocuments(documents: DocumentInterface[], query: string): Promise<DocumentInterface[]> {
    const ranks = await (await this.#model).rerank(query, documents.map(({ pageContent }) => pageContent));
    return ranks.slice(0, this.#topN).map(({ index, score }) => {
      const { metadata, ...document } = documents[index]!;
      return new Document({ ...document, metadata: { ...metadata, relevanceScore: score } });
    });
  }
}
