// All modules with all code for them, where nothing is loaded later.
import { loadCausal, type CausalGlue } from "./causal.js";
import { loadEncoder, type EncoderFileGlue, type EncoderGlue } from "./encoders.js";
import type { Engine } from "./engine.js";
import { loadFolder } from "./folder.js";
import type { Inspector, ValuesGlue } from "./inspection.js";
import type { Runners } from "./model-sink.js";
import type { SentenceGlue } from "./sentences.js";
import { loadWords, openWith, type WordGlue } from "./words.js";

export interface Modules {
  sentences: Engine<SentenceGlue>;
  static: Engine<SentenceGlue>;
  words: Engine<WordGlue>;
  causal: Engine<CausalGlue>;
  encoders: Engine<EncoderGlue>;
  weights: Engine<EncoderFileGlue>;
  gguf: Engine<EncoderFileGlue>;
  inspector: Inspector;
  values: Engine<ValuesGlue>;
}

/** What runs models in these modules. */
export const runnersOf = ({ sentences, static: tables, words, causal, encoders, weights, gguf }: Modules): Runners => ({
  sentences,
  static: tables,
  words: async () => ({ engine: words, loadWords, openWith }),
  causal: async () => ({ engine: causal, loadCausal }),
  encoders: async () => ({ engine: encoders, loadEncoder, loadFolder }),
  weights: async () => ({ engine: weights, loadEncoder }),
  gguf: async () => ({ engine: gguf, loadEncoder }),
});
