/// <reference lib="esnext.disposable" preserve="true" />
import { yieldToPage } from "./event-loop.js";
import type { Engine, Glue, Reader } from "./engine.js";
import { NanoembedError, check, checkNames, guarded } from "./errors.js";
import { Local } from "./local.js";
import type { Platform } from "./platform.js";
import { checkPrecision, type TokenizeOptions, type Tokens } from "./sentences.js";

export interface GenerateOptions {
  /** Stops before the next token. */
  signal?: Platform<"AbortSignal">;
  /** How many tokens are added at most. Default 128, or as many as the model has room for. */
  maxTokens?: number;
  /** 0 always takes the likeliest token; larger is more varied. Default 0.7. */
  temperature?: number;
  /** Considers only so many of the likeliest tokens; 0: all. Default 40. */
  topK?: number;
  /** Considers only the likeliest tokens that together have this probability. Default 0.95. */
  topP?: number;
  /** The same seed gives the same text. Default 0. */
  seed?: number;
  /** Puts the prompt as a question in the ChatML form that instruction-tuned models know. */
  chat?: boolean;
  /** `precise` computes in f32 throughout instead of with activations in 16 bits: slower, for comparisons. */
  precision?: "default" | "precise";
}

/** What one token adds to a text. */
export interface GeneratedToken {
  /** Whole characters; empty while the bytes of a character are not complete. */
  text: string;
  /** The token; `undefined` for U+FFFD in place of a last character that was never completed. */
  id: number | undefined;
}

/** What an iteration returns at its end. */
export interface Generated {
  /** The whole continuation. */
  text: string;
  /** How many tokens the prompt had, and how many were added. */
  promptTokens: number;
  tokens: number;
  /** Whether the model came to an end, or `maxTokens` were reached. */
  reason: "end" | "length";
}

/** A model of the Llama family: it continues texts. */
export interface CausalModel {
  readonly kind: "causal";
  /** How many different tokens there are. */
  readonly vocabulary: number;
  /** How many tokens a text may have, prompt and continuation together. */
  readonly maxTokens: number;

  /**
   * Continues a text, a token at a time. Between tokens the page may draw and listen. Several texts may be continued at
   * once.
   *
   * ```js
   * for await (const { text } of model.generate("Once upon a time")) page.append(text);
   * ```
   */
  generate(prompt: string, options?: GenerateOptions): AsyncGenerator<GeneratedToken, Generated, undefined>;
  /** The token ids of a text, cut to `maxTokens` if that is given. */
  tokenize(text: string, options?: Pick<TokenizeOptions, "signal" | "maxTokens">): Promise<Tokens>;
  /** Frees the model. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** A text on its way inside the module. */
interface Generation {
  advance(): boolean;
  step(): number | undefined;
  piece(): string;
  free(): void;
}

/** What a module has of a causal model. */
interface Causal {
  vocabulary(): number;
  positions(): number;
  tokenize(text: string): Uint32Array;
  generation(
    prompt: Uint32Array, count: number, temperature: number, topK: number, topP: number, seed: number, precise: boolean,
  ): Generation;
  free(): void;
}

export interface CausalGlue extends Glue {
  Causal: new (reader: Reader) => Causal;
}

/** Tokens that are added unless told otherwise. */
const TOKENS = 128;

/** A causal model in this thread. */
class LocalCausal extends Local<Causal> implements CausalModel {
  readonly kind = "causal";
  readonly vocabulary: number;
  readonly maxTokens: number;

  constructor(model: Causal) {
    super(model);
    this.vocabulary = model.vocabulary();
    this.maxTokens = model.positions();
  }

  /** Lets others run; what they may have done meanwhile ends the text. */
  async #pause(signal: AbortSignal | undefined): Promise<void> {
    await yieldToPage();
    signal?.throwIfAborted();
    this.open();
  }

  async *generate(prompt: string, options: GenerateOptions = {}): AsyncGenerator<GeneratedToken, Generated, undefined> {
    const { signal } = options;
    checkNames<keyof GenerateOptions>(options, {
      signal: true, maxTokens: true, temperature: true, topK: true, topP: true, seed: true, chat: true, precision: true,
    });
    signal?.throwIfAborted();
    const { generation, promptTokens, count } = this.#begin(prompt, options);
    let text = "";
    let tokens = 0;
    try {
      for (;;) {
        while (!guarded(() => generation.advance())) await this.#pause(signal);
        await this.#pause(signal);
        const id = guarded(() => generation.step());
        const piece = generation.piece();
        text += piece;
        if (id === undefined) {
          if (piece) yield { text: piece, id };
          return { text, promptTokens, tokens, reason: "end" };
        }
        tokens += 1;
        yield { text: piece, id };
        if (tokens === count) return { text, promptTokens, tokens, reason: "length" };
        signal?.throwIfAborted();
        this.open();
      }
    } finally {
      generation.free();
    }
  }

  #begin(prompt: string, options: GenerateOptions) {
    if (typeof prompt !== "string") {
      throw new NanoembedError("invalid_argument", `the prompt is of type ${typeof prompt}, not string`);
    }
    checkPrecision(options);
    const { temperature = 0.7, topK = 40, topP = 0.95, seed = 0, chat = false, precision } = options;
    const model = this.open();
    const length = (text: string) => guarded(() => model.tokenize(text)).length;
    check(!chat || length("<|im_start|><|im_end|>") === length("") + 2,
      "chat is for models with the tokens of ChatML, which this one has not: write the prompt in its own format");
    const ids = guarded(() => model.tokenize(chat ? `<|im_start|>user\n${prompt}<|im_end|>\n<|im_start|>assistant\n` : prompt));
    if (ids.length === 0) {
      throw new NanoembedError("invalid_argument", "the prompt is empty, and the model has no token to begin with");
    }
    const promptTokens = ids.length;
    const room = this.maxTokens - promptTokens;
    const count = options.maxTokens ?? Math.max(1, Math.min(TOKENS, room));
    if (!Number.isInteger(count) || count < 1 || count > room) {
      const [code, sentence] = room < 1 || count > room
        ? ["too_many_tokens", `${promptTokens} tokens of the prompt and ${count} more are beyond the model's ${this.maxTokens}`]
        : ["invalid_argument", "maxTokens must be a whole number from 1 on"];
      throw new NanoembedError(code!, sentence!);
    }
    for (const [name, value, most] of [["temperature", temperature, 1e6], ["topK", topK, 2 ** 31], ["topP", topP, 1], ["seed", seed, 2 ** 53]] as const) {
      if (!(value >= 0 && value <= most)) throw new NanoembedError("invalid_argument", `${name} must be 0 to ${most}`);
    }
    const generation = guarded(() => model.generation(ids, count, temperature, topK, topP, seed, precision === "precise"));
    return { generation, promptTokens, count };
  }

  async tokenize(text: string, options: Pick<TokenizeOptions, "signal" | "maxTokens"> = {}): Promise<Tokens> {
    checkNames<"signal" | "maxTokens">(options, { signal: true, maxTokens: true });
    options.signal?.throwIfAborted();
    const model = this.open();
    check(typeof text === "string", "text must be a string");
    const all = guarded(() => model.tokenize(text));
    const most = options.maxTokens ?? all.length;
    check(Number.isInteger(most) && most >= 0, "maxTokens must be a whole number");
    const ids = all.slice(0, most);
    return { ids, total: all.length, truncated: all.length > ids.length };
  }
}

/** The causal model of what a reader has read. */
export function loadCausal(engine: Engine<CausalGlue>, reader: Reader, format: string | undefined): CausalModel {
  const { Causal } = engine.glue;
  return new LocalCausal(guarded(() => new Causal(reader), () => format));
}
