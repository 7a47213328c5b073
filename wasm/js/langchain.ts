/**
 * Embeddings and a document compressor, which reranks, for LangChain.js.
 *
 * @module
 */
import { Document, type DocumentInterface } from "@langchain/core/documents";
import { Embeddings, type EmbeddingsParams } from "@langchain/core/embeddings";
import { BaseDocumentCompressor } from "@langchain/core/retrievers/document_compressors";
import { bestOf, type RerankerSettings } from "./best.js";
import { checkNames } from "./errors.js";
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

export type NanoembedRerankerParams = RerankerSettings;

/** Documents by how well they answer the question, the best first; `metadata.relevanceScore` has the score. */
export class NanoembedReranker extends BaseDocumentCompressor {
  readonly #best: ReturnType<typeof bestOf>;

  constructor(params: NanoembedRerankerParams) {
    super();
    this.#best = bestOf(params);
  }

  async compressDocuments(documents: DocumentInterface[], query: string): Promise<DocumentInterface[]> {
    const ranks = await this.#best(query, documents.map(({ pageContent }) => pageContent));
    return ranks.map(({ index, score }) => {
      const { metadata, ...document } = documents[index]!;
      return new Document({ ...document, metadata: { ...metadata, relevanceScore: score } });
    });
  }
}
