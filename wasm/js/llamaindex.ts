/**
 * An embedding and a node postprocessor, which reranks, for LlamaIndex.TS.
 *
 * @module
 */
import { BaseEmbedding } from "@llamaindex/core/embeddings";
import type { BaseNodePostprocessor } from "@llamaindex/core/postprocessor";
import { MetadataMode, type NodeWithScore } from "@llamaindex/core/schema";
import { bestOf, type RerankerSettings } from "./best.js";
import { check, checkNames } from "./errors.js";
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

export type NanoembedRerankerParams = RerankerSettings;

/** Nodes by how well they answer the question, the best first, each with its score. */
export class NanoembedReranker implements BaseNodePostprocessor {
  readonly #best: ReturnType<typeof bestOf>;

  constructor(params: NanoembedRerankerParams) {
    this.#best = bestOf(params);
  }

  async postprocessNodes(nodes: NodeWithScore[], query?: string | Detail[]): Promise<NodeWithScore[]> {
    check(query !== undefined, "nodes are reranked by a query, and there is none");
    const ranks = await this.#best(textOf(query), nodes.map(({ node }) => node.getContent(MetadataMode.EMBED)));
    return ranks.map(({ index, score }) => ({ node: nodes[index]!.node, score }));
  }
}

/** The text of a question, of which pictures are no part. */
function textOf(query: string | readonly Detail[]): string {
  if (typeof query === "string") return query;
  return query.filter(({ type }) => type === "text").map(({ text }) => text).join("\n\n");
}
