/**
 * An embedding model for the AI SDK: `embed` and `embedMany`.
 *
 * @module
 */
import { checkNames } from "./errors.js";
import type { Platform } from "./platform.js";
import { rows } from "./rows.js";
import type { EmbedOptions, PartOptions, SentenceModel } from "./sentences.js";

/** What `providerOptions: { nanoembed: … }` takes. */
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

/** A model as that interface has it. */
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
