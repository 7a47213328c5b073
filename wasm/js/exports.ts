// The names that every entry for models exports besides its functions.
export { NanoembedError } from "./errors.js";
export { quantizeVectors, similarity, topK, type Hit, type QuantizedVectors } from "./vectors.js";
export type { ModuleSource } from "./engine.js";
export type { CacheKind } from "./cache.js";
export type { Address, FetchOptions, Phase, Progress, Source } from "./source.js";
export type {
  EmbedOptions, EmbedProgress, Embedding, Embeddings, MultiEmbedding, MultiOptions, SentenceModel, SparseEmbedding, SparseOptions,
  StreamOptions, StreamedEmbedding, TokenizeOptions,
  Tokens,
} from "./sentences.js";
export type { PairScore, Ranked, RerankOptions, Reranker } from "./encoders.js";
export type { Folder } from "./folders.js";
export type { CausalModel, GenerateOptions, Generated, GeneratedToken } from "./causal.js";
export type { Neighbour, SearchOptions, WordOptions, WordVector, WordVectors } from "./words.js";
export type {
  FileSummary, InspectOptions, Inspection, MetadataValue, TensorInfo, Verdict, VerifyOptions,
} from "./inspection.js";
export type { Api, InitOptions, LoadOptions, Model } from "./api.js";
