/**
 * An embedding for LlamaIndex.TS.
 *
 * @module
 */
import { BaseEmbedding } from "@llamaindex/core/embeddings";
import { checkNames } from "./errors.js";
import { rows } from "./rows.js";
import type { SentenceModel } from "./sentences.js";

/** What a question may be for LlamaIndex; only text has a vector here. */
interface Detail {
  type: string;
  text?: string;
}

/** Vectors of a sentence model, with its prompts for questions and for documents. */
export class NanoembedEmbedding extends BaseEmbedding {
  readonly #model: SentenceModel | Promise<SentenceModel>;

  /** `model` may still be loading. */
  constructor(settings: { model: SentenceModel | Promise<SentenceModel> }) {
    super();
    checkNames<"model">(settings, { model: true });
    this.#model = settings.model;
  }

  async getTextEmbedding(text: string): Promise<number[]> {
    const [vector] = await this.getTextEmbeddings([text]);
    return vector!;
  }

  override getTextEmbeddings = async (texts: string[]): Promise<number[][]> => rows(await (await this.#model).embedDocuments(texts));

  override async getQueryEmbedding({ type, text }: Detail): Promise<number[] | null> {
    if (type !== "text" || text === undefined) return null;
    return Array.from((await (await this.#model).embedQuery(text)).data);
  }
}
