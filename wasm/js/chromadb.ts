/**
 * An embedding function for Chroma, which importing this registers as `nanoembed`.
 *
 * @module
 */
import { registerEmbeddingFunction } from "chromadb";
import { modelAt, pathOf } from "./addressed.js";
import { check, checkNames } from "./errors.js";
import { rows } from "./rows.js";
import type { SentenceModel } from "./sentences.js";
import type { Address } from "./source.js";

/** One of both. */
export interface NanoembedFunctionOptions {
  /** The address of a sentence model, which the collection keeps: what `load` takes as one. */
  path?: string | Address;
  /** A sentence model, or one that is still being loaded. The collection knows nothing of it, so that it is given each time. */
  model?: SentenceModel | Promise<SentenceModel>;
}

/** How vectors can be compared. */
export type Space = "cosine" | "l2" | "ip";

/** Vectors of a sentence model, with its prompts for questions and for documents. */
export class NanoembedFunction {
  readonly name = "nanoembed";
  /** What a collection keeps. */
  readonly getConfig?: () => { path: string };
  readonly #model: () => SentenceModel | Promise<SentenceModel>;

  constructor(options: NanoembedFunctionOptions) {
    checkNames<keyof NanoembedFunctionOptions>(options, { path: true, model: true });
    const { path: address, model } = options;
    check(address === undefined || model === undefined, "either path or model, not both");
    if (model) {
      this.#model = () => model;
    } else {
      const path = pathOf(address, 'new NanoembedFunction({ path: "model.weights" })');
      this.#model = () => modelAt(path);
      this.getConfig = () => ({ path });
    }
  }

  /** The function of a collection that is opened. */
  static buildFromConfig({ path }: Record<string, any>): NanoembedFunction {
    return new NanoembedFunction({ path });
  }

  async generate(texts: string[]): Promise<number[][]> {
    return rows(await (await this.#model()).embedDocuments(texts));
  }

  async generateForQueries(texts: string[]): Promise<number[][]> {
    const model = await this.#model();
    return Promise.all(texts.map(async (text) => Array.from((await model.embedQuery(text)).data)));
  }

  defaultSpace(): Space {
    return "cosine";
  }

  supportedSpaces(): Space[] {
    return ["cosine", "l2", "ip"];
  }
}

registerEmbeddingFunction("nanoembed", NanoembedFunction);
