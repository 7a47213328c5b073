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

declare module "@langchain/core/documents" {
  export interface DocumentInterface {
    pageContent: string;
    metadata: Record<string, any>;
    id?: string;
  }
  export class Document implements DocumentInterface {
    constructor(fields: DocumentInterface);
    pageContent: string;
    metadata: Record<string, any>;
    id?: string;
  }
}

declare module "@langchain/core/retrievers/document_compressors" {
  import type { DocumentInterface } from "@langchain/core/documents";
  export abstract class BaseDocumentCompressor {
    abstract compressDocuments(documents: DocumentInterface[], query: string): Promise<DocumentInterface[]>;
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

declare module "@llamaindex/core/schema" {
  export enum MetadataMode {
    EMBED = "EMBED",
  }
  export interface NodeWithScore {
    node: { getContent(mode: MetadataMode): string };
    score?: number | undefined;
  }
}

declare module "@llamaindex/core/postprocessor" {
  import type { NodeWithScore } from "@llamaindex/core/schema";
  export interface BaseNodePostprocessor {
    postprocessNodes(nodes: NodeWithScore[], query?: string | { type: string }[]): Promise<NodeWithScore[]>;
  }
}

declare module "@lancedb/lancedb" {
  interface Schema {
    readonly names: string[];
    readonly fields: readonly unknown[];
    select(names: string[]): Schema;
  }
  /** Arrow's `RecordBatch`. */
  interface RecordBatch {
    readonly schema: Schema;
    readonly numRows: number;
    readonly data: import("./arrow-rows.js").ArrowData;
    getChild(name: string): Iterable<any> | null;
  }
  export namespace rerankers {
    interface Reranker {
      rerankHybrid(query: string, vecResults: RecordBatch, ftsResults: RecordBatch): Promise<RecordBatch>;
    }
    class RRFReranker implements Reranker {
      static create(): Promise<RRFReranker>;
      rerankHybrid(query: string, vecResults: RecordBatch, ftsResults: RecordBatch): Promise<RecordBatch>;
    }
  }
}

declare module "@lancedb/lancedb/embedding" {
  export abstract class TextEmbeddingFunction<Options> {
    readonly TOptions: Options;
    protected resolveVariables(options: Partial<Options>): Partial<Options>;
    init?(): Promise<void>;
    ndims(): number | undefined;
    abstract generateEmbeddings(texts: string[]): Promise<Float32Array[]>;
    computeQueryEmbeddings(text: string): Promise<Float32Array>;
  }
  export function register(name: string): (constructor: new (options: any) => TextEmbeddingFunction<any>) => unknown;
}

declare module "chromadb" {
  export function registerEmbeddingFunction(name: string, constructor: unknown): void;
}
