// As much of other packages as adapters build upon: they are installed where adapters are used, not here.
declare module "@langchain/core/embeddings" {
  export interface EmbeddingsParams {
    maxConcurrency?: number;
    maxRetries?: number;
    onFailedAttempt?: (error: unknown) => unknown;
  }
  export abstract class Embeddings {
    constructor(params: EmbeddingsParams);
    abstract embedDocuments(documents: string[]): Promise<number[][]>;
    abstract embedQuery(document: string): Promise<number[]>;
  }
}

declare module "@llamaindex/core/embeddings" {
  export abstract class BaseEmbedding {
    protected constructor();
    abstract getTextEmbedding(text: string): Promise<number[]>;
    getTextEmbeddings: (texts: string[]) => Promise<number[][]>;
    getQueryEmbedding(query: { type: string }): Promise<number[] | null>;
  }
}
