// What runs in a worker that shares models with others, beside what runs in every worker.
import type { Model } from "./api.js";
import { loadEncoder, wrapped } from "./encoders.js";
import { memoryBytes, type Engine, type Glue } from "./engine.js";
import { guarded } from "./errors.js";
import type { Local } from "./local.js";
import { ModelSink } from "./model-sink.js";
import type { SharedModules } from "./module-shared.js";
import { runnersOf, type Modules } from "./modules.js";
import { LocalSentences } from "./sentences.js";
import type { Seat, Shareable, SharedEngine } from "./shared-engine.js";
import { begin, describe, inTurn, things, type Answering } from "./serving.js";

/** A model that another worker may take, and where. */
interface Offer extends Seat {
  of: keyof SharedModules;
  name: number;
}

/** A module, or another one where the first cannot be loaded or has no memory to share. */
class Either<G extends Glue> {
  readonly #first: Engine<G>;
  readonly #other: Engine<G>;
  readonly #chosen: () => void;
  #engine: Engine<G> | undefined;

  /** `chosen` is called when it is the first one. */
  constructor(first: Engine<G>, other: Engine<G>, chosen: () => void) {
    this.#first = first;
    this.#other = other;
    this.#chosen = chosen;
  }

  get glue(): G {
    return this.#engine!.glue;
  }

  async ready(): Promise<Engine<G>> {
    this.#engine = await this.#first.ready().catch(() => undefined);
    if (this.#engine) this.#chosen();
    return (this.#engine ??= await this.#other.ready());
  }
}

/** The answers of workers that share what these modules run. */
export function sharing(modules: Modules, shared: SharedModules): Record<string, Answering> {
  const { sentences, weights } = shared;
  const all: SharedEngine[] = [sentences, weights];
  const ordinary = runnersOf(modules);
  /** The sinks whose files are in memory that is shared. */
  const sharers = new WeakSet<ModelSink>();

  /** A sink into memory that is shared, if a module for that runs the file. */
  const sharingSink = (wanted: Model["kind"] | undefined): ModelSink => {
    const shares = () => sharers.add(sink);
    // What a file turns out to be for later on.
    const own = <T>(run: () => T) => () => {
      sharers.delete(sink);
      return run();
    };
    const encoding = { engine: new Either(weights, modules.weights, shares), loadEncoder };
    const sink: ModelSink = new ModelSink({
      ...ordinary,
      sentences: new Either(sentences, modules.sentences, shares),
      weights: async () => encoding,
      encoders: own(ordinary.encoders),
      causal: own(ordinary.causal),
    }, wanted);
    return sink;
  };

  /** What a module has of a model that the page knows by a handle. */
  const inside = (handle: number) => (things.get(handle) as unknown as Local<Shareable & { free(): void }>).open();

  return {
    begin({ args: [kind, isShared] }) {
      const wanted = kind as Model["kind"] | undefined;
      return begin(isShared ? sharingSink(wanted) : new ModelSink(ordinary, wanted));
    },
    shares: ({ handle }) => inTurn(handle!, (sink) => sharers.has(sink)),
    offer({ handle }): Offer {
      const model = inside(handle!);
      const of = model instanceof weights.glue.Encoders ? "weights" : "sentences";
      return { ...shared[of].seat!, of, name: guarded(() => model.offer()) };
    },
    async take({ args: [offer] }) {
      const { of, name, ...seat } = offer as Offer;
      await shared[of].join(seat);
      return describe(guarded(() => (of === "weights"
        ? wrapped(weights.glue.Encoders.take(name)) : new LocalSentences(sentences.glue.Sentences.take(name)))));
    },
    withdraw({ args: [offer] }) {
      const { of, name } = offer as Offer;
      (of === "weights" ? weights.glue.Encoders : sentences.glue.Sentences).withdraw(name);
    },
    memory: () => all.reduce((sum, engine) => sum - engine.joinedBytes, memoryBytes()),
  };
}
