/**
 * Embeddings for LangChain.js.
 *
 * @module
 */
import { Embeddings, type EmbeddingsParams } from "@langchain/core/embeddings";
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
