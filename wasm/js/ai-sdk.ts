/**
 * Models for the AI SDK: one for `embed` and `embedMany`, one for `rerank`.
 *
 * @module
 */
import type { RerankOptions, Reranker } from "./encoders.js";
import { checkNames } from "./errors.js";
import type { Platform } from "./platform.js";
import { rows } from "./rows.js";
import type { EmbedOptions, PartOptions, SentenceModel } from "./sentences.js";

/** What `providerOptions: { nanoembed: … }` takes for vectors. */
export interface NanoembedOptions
  extends Pick<EmbedOptions, "maxTokens" | "normalize" | "prompt" | "promptName" | "truncate" | "truncateDim"> {
  /** What the texts are for: the model's prompt for that stands before them. */
  role?: "query" | "document";
}

const OPTIONS = {
  maxTokens: true, normalize: true, prompt: true, promptName: true, role: true, truncate: true, truncateDim: true,
} satisfies Record<keyof NanoembedOptions, true>;

/** What the AI SDK asks, as its interface of version 3 has it. */
export interface EmbedCall {
  values: string[];
  abortSignal?: Platform<"AbortSignal"> | undefined;
  providerOptions?: Record<string, Record<string, unknown>> | undefined;
}

/** A model as that interface has it, which version 7 of the AI SDK takes like version 6. */
export interface EmbeddingModel {
  readonly specificationVersion: "v3";
  readonly provider: string;
  readonly modelId: string;
  readonly maxEmbeddingsPerCall: number;
  readonly supportsParallelCalls: boolean;
  doEmbed(call: EmbedCall): Promise<{ embeddings: number[][]; usage: { tokens: number }; warnings: [] }>;
}

/** A sentence model for the AI SDK. It may still be loading. */
export function embeddingModel(model: SentenceModel | Promise<SentenceModel>, settings: { modelId?: string } = {}): EmbeddingModel {
  checkNames<"modelId">(settings, { modelId: true });
  const { modelId = "sentences" } = settings;
  return {
    specificationVersion: "v3",
    provider: "nanoembed",
    modelId,
    // Texts are put together in batches by the model itself.
    maxEmbeddingsPerCall: Infinity,
    supportsParallelCalls: true,
    async doEmbed({ values, abortSignal, providerOptions }) {
      const options = providerOptions?.["nanoembed"] ?? {};
      checkNames(options, OPTIONS, "providerOptions.nanoembed.");
      const all = await (await model).embed(values, { ...options, ...(abortSignal && { signal: abortSignal }) } as PartOptions);
      return { embeddings: rows(all), usage: { tokens: all.tokens.reduce((sum, count) => sum + count, 0) }, warnings: [] };
    },
  };
}

/** What `providerOptions: { nanoembed: … }` takes for ranks. */
export type NanoembedRerankOptions = Pick<RerankOptions, "maxTokens" | "precision">;

const RERANK = { maxTokens: true, precision: true } satisfies Record<keyof NanoembedRerankOptions, true>;

/** Texts to rank, as the AI SDK asks. */
export interface RerankCall {
  /** Objects are read as JSON. */
  documents: { type: "text"; values: string[] } | { type: "object"; values: object[] };
  query: string;
  /** How many ranks are given. Default: all. */
  topN?: number | undefined;
  abortSignal?: Platform<"AbortSignal"> | undefined;
  providerOptions?: Record<string, Record<string, unknown>> | undefined;
}

/** A model that reranks, as the interface of version 3 has it. */
export interface RerankingModel {
  readonly specificationVersion: "v3";
  readonly provider: string;
  readonly modelId: string;
  doRerank(call: RerankCall): Promise<{ ranking: { index: number; relevanceScore: number }[]; warnings: [] }>;
}

/** A reranker for the AI SDK. It may still be loading. */
export function rerankingModel(model: Reranker | Promise<Reranker>, settings: { modelId?: string } = {}): RerankingModel {
  checkNames<"modelId">(settings, { modelId: true });
  const { modelId = "reranker" } = settings;
  return {
    specificationVersion: "v3",
    provider: "nanoembed",
    modelId,
    async doRerank({ documents, query, topN, abortSignal, providerOptions }) {
      const options = providerOptions?.["nanoembed"] ?? {};
      checkNames(options, RERANK, "providerOptions.nanoembed.");
      const texts = documents.type === "text" ? documents.values : documents.values.map((one) => JSON.stringify(one));
      const ranks = await (await model).rerank(query, texts, { ...options, ...(abortSignal && { signal: abortSignal }) });
      return { ranking: ranks.slice(0, topN).map(({ index, score }) => ({ index, relevanceScore: score })), warnings: [] };
    },
  };
}
