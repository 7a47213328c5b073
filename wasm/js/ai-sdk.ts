/**
 * An embedding model for the AI SDK: `embed` and `embedMany`.
 *
 * @module
 */
import { check } from "./errors.js";
import type { Platform } from "./platform.js";
import { rows } from "./rows.js";
import type { EmbedOptions, PartOptions, SentenceModel } from "./sentences.js";

/** What `providerOptions: { nanoembed: … }` takes. */
export interface NanoembedOptions
  extends Pick<EmbedOptions, "maxTokens" | "normalize" | "prompt" | "promptName" | "truncate" | "truncateDim"> {
  /** What the texts are for: the model's prompt for that stands before them. */
  role?: "query" | "document";
}

const OPTIONS: readonly string[] = ["maxTokens", "normalize", "prompt", "promptName", "role", "truncate", "truncateDim"];

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
export function embeddingModel(model: SentenceModel | Promise<SentenceModel>, { modelId = "sentences" } = {}): EmbeddingModel {
  return {
    specificationVersion: "v3",
    provider: "nanoembed",
    modelId,
    // Texts are put together in batches by the model itself.
    maxEmbeddingsPerCall: Infinity,
    supportsParallelCalls: true,
    async doEmbed({ values, abortSignal, providerOptions }) {
      const options = providerOptions?.["nanoembed"] ?? {};
      for (const name of Object.keys(options)) check(OPTIONS.includes(name), `providerOptions.nanoembed has no ${name}: ${OPTIONS.join(", ")}`);
      const all = await (await model).embed(values, { ...options, ...(abortSignal && { signal: abortSignal }) } as PartOptions);
      return { embeddings: rows(all), usage: { tokens: all.tokens.reduce((sum, count) => sum + count, 0) }, warnings: [] };
    },
  };
}
