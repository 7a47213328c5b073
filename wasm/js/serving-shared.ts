// What runs in a worker that shares models with others, beside what runs in every worker.
import type { Model } from "./api.js";
import { loadEncoder, wrapped } from "./encoders.js";
import { memoryBytes, type Engine, type Glue } from "./engine.js";
import { guarded } from "./errors.js";
import type { Local } from "./local.js";
import { ModelSink, type Loadable, type Runners } from "./model-sink.js";
import type { SharedModules } from "./module-shared.js";
import { runnersOf, type Modules } from "./modules.js";
import { LocalSentences } from "./sentences.js";
import { SharedEngine, type Seat, type Shareable } from "./shared-engine.js";
import { begin, describe, inTurn, things, type Answering } from "./serving.js";

/** A model that another worker may take, and where. */
interface Offer extends Seat {
  of: keyof SharedModules;
  name: number;
}

/** A module, or another one where the first cannot be loaded or has no memory to share. */
const either = <G extends Glue>(first: Engine<G>, other: Engine<G>): Loadable<G> => (
  { ready: () => first.ready().catch(() => other.ready()) });

/** The answers of workers that share what these modules run. */
export function sharing(modules: Modules, shared: SharedModules): Record<string, Answering> {
  const { sentences, weights } = shared;
  const all: SharedEngine[] = [sentences, weights];
  const ordinary = runnersOf(modules);
  const sharers: Runners = {
    ...ordinary,
    sentences: either(sentences, modules.sentences),
    weights: async () => ({ engine: either(weights, modules.weights), loadEncoder }),
  };

  /** What a module has of a model that the page knows by a handle. */
  const inside = (handle: number) => (things.get(handle) as unknown as Local<Shareable & { free(): void }>).open();

  return {
    begin: ({ args: [most, kind, isShared] }) =>
      begin(new ModelSink(isShared ? sharers : ordinary, most as number, kind as Model["kind"] | undefined)),
    shares: ({ handle }) => inTurn(handle!, ({ engine }) => engine instanceof SharedEngine),
    offer({ handle }): Offer {
      const model = inside(handle!);
      const of = model instanceof weights.glue.TextModel ? "weights" : "sentences";
      return { ...shared[of].seat!, of, name: guarded(() => model.offer()) };
    },
    async take({ args: [offer] }) {
      const { of, name, ...seat } = offer as Offer;
      await shared[of].join(seat);
      return describe(guarded(() => (of === "weights"
        ? wrapped(weights.glue.TextModel.take(name), []) : new LocalSentences(sentences.glue.TextModel.take(name)))));
    },
    withdraw({ args: [offer] }) {
      const { of, name } = offer as Offer;
      shared[of].glue.TextModel.withdraw(name);
    },
    memory: () => all.reduce((sum, engine) => sum - engine.joinedBytes, memoryBytes()),
  };
}
