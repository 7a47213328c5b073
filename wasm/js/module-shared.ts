import type { EncoderFileGlue, Encoders } from "./encoders.js";
import { hasRelaxedSimd } from "./engine.js";
import encoderGlue from "./generated/shared-encoders.js";
import sentenceGlue from "./generated/shared-sentences.js";
import type { SentenceGlue, Sentences } from "./sentences.js";
import { SharedEngine, type ShareableClass } from "./shared-engine.js";

type SharedSentenceGlue = SentenceGlue & { TextModel: ShareableClass<Sentences> };
type SharedEncoderGlue = EncoderFileGlue & { TextModel: ShareableClass<Encoders> };

/** The modules whose memory threads share; with relaxed SIMD where that is there. */
export interface SharedModules {
  /** Sentence models. */
  sentences: SharedEngine<SharedSentenceGlue>;
  /** Encoders of all families in `.weights` and AMB files. */
  weights: SharedEngine<SharedEncoderGlue>;
}

// Bundlers find the modules by the form of these lines: the addresses must stand there as they are.
export const shared: SharedModules = {
  sentences: /* @__PURE__ */ new SharedEngine<SharedSentenceGlue>(sentenceGlue, () =>
    hasRelaxedSimd()
      ? new URL("./nanoembed-shared-relaxed.wasm", import.meta.url)
      : new URL("./nanoembed-shared.wasm", import.meta.url),
  ),
  weights: /* @__PURE__ */ new SharedEngine<SharedEncoderGlue>(encoderGlue, () =>
    hasRelaxedSimd()
      ? new URL("./nanoembed-weights-shared-relaxed.wasm", import.meta.url)
      : new URL("./nanoembed-weights-shared.wasm", import.meta.url),
  ),
};
