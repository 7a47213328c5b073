/**
 * An embedding function for LanceDB, which importing this registers as `nanoembed`.
 *
 * @module
 */
import { TextEmbeddingFunction, register } from "@lancedb/lancedb/embedding";
import { modelAt, pathOf } from "./addressed.js";
import { check, checkNames } from "./errors.js";
import type { SentenceModel } from "./sentences.js";
import type { Address } from "./source.js";

export interface NanoembedFunctionOptions {
  /**
   * The address of a sentence model, as `load` takes it. The table keeps it. `"$var:NAME"` is LanceDB's variable of this name.
   */
  path: string | Address;
}

/**
 * Vectors of a sentence model, with its prompts for questions and for documents.
 *
 * ```js
 * const embedding = await getRegistry().get("nanoembed").create({ path: "all-MiniLM-L6-v2.int8.weights" });
 * const schema = LanceSchema({ text: embedding.sourceField(), vector: embedding.vectorField() });
 * ```
 */
export class NanoembedFunction extends TextEmbeddingFunction<NanoembedFunctionOptions> {
  readonly #path: string;
  #model: SentenceModel | undefined;

  constructor(options: NanoembedFunctionOptions) {
    super();
    // What Python's function of this name keeps with a table, too.
    checkNames<keyof NanoembedFunctionOptions | "threads">(options ?? {}, { path: true, threads: false });
    const path = pathOf(options?.path, 'create({ path: "model.weights" })');
    this.#path = this.resolveVariables({ path }).path as string;
  }

  override async init(): Promise<void> {
    this.#model = await modelAt(this.#path);
  }

  override ndims(): number {
    check(this.#model !== undefined, 'the model is not loaded: await getRegistry().get("nanoembed").create(…)');
    return this.#model.dims;
  }

  async generateEmbeddings(texts: string[]): Promise<Float32Array[]> {
    return (await (await modelAt(this.#path)).embedDocuments(texts)).rows;
  }

  override async computeQueryEmbeddings(text: string): Promise<Float32Array> {
    return (await (await modelAt(this.#path)).embedQuery(text)).data;
  }
}

register("nanoembed")(NanoembedFunction);
