// What runs in a worker that shares models with others, beside what runs in every worker.
import type { Model } from "./api.js";
import { wrapped } from "./encoders.js";
import { memoryBytes } from "./engine.js";
import { guarded } from "./errors.js";
import { ModelSink, type Runners } from "./model-sink.js";
import type { Seat, SharedEncoders, SharedEngine } from "./module-shared.js";
import { runnersOf, type Modules } from "./modules.js";
import { begin, describe, inTurn, things, type Answering } from "./serving.js";

/** What runs encoders in `.weights` files. */
type Encoding = Awaited<ReturnType<Runners["weights"]>>;

/** A model that another worker may take, and where. */
type Offer = Seat & { name: number };

/** The answers of workers that share what `engine` runs. */
export function sharing(modules: Modules, engine: SharedEngine): Record<string, Answering> {
  const ordinary = runnersOf(modules);
  /** What may be offered, by what the page calls it. */
  const inside = new WeakMap<object, SharedEncoders>();
  /** The sinks whose files are in the memory that is shared. */
  const sharers = new WeakSet<ModelSink>();
  const loadEncoder: Encoding["loadEncoder"] = (_, reader, format, { requantize }) => {
    const model = guarded(() => new engine.glue.Encoders(reader, requantize), () => format);
    const outside = wrapped(model);
    inside.set(outside, model);
    return outside;
  };
  const sharingSink = (kind: Model["kind"] | undefined) => {
    let chosen: Promise<Encoding> | undefined;
    const choose = async () => {
      // Where it cannot be loaded, or has no memory to share, each worker has a copy.
      if (!(await engine.ready().catch(() => undefined))) return ordinary.weights();
      sharers.add(sink);
      return { engine, loadEncoder };
    };
    const sink: ModelSink = new ModelSink({
      ...ordinary,
      weights: () => (chosen ??= choose()),
      // Where a file goes that turns out to be for this module.
      encoders() {
        sharers.delete(sink);
        return ordinary.encoders();
      },
    }, kind);
    return sink;
  };
  return {
    begin({ args: [kind, isShared] }) {
      const wanted = kind as Model["kind"] | undefined;
      return begin(isShared ? sharingSink(wanted) : new ModelSink(ordinary, wanted));
    },
    shares: ({ handle }) => inTurn(handle!, (sink) => sharers.has(sink)),
    offer: ({ handle }): Offer => ({ ...engine.seat!, name: guarded(() => inside.get(things.get(handle!)!)!.offer()) }),
    async take({ args: [offer] }) {
      const { name, ...seat } = offer as Offer;
      await engine.join(seat);
      return describe(wrapped(guarded(() => engine.glue.Encoders.take(name))));
    },
    withdraw: ({ args: [name] }) => engine.glue.Encoders.withdraw(name as number),
    memory: () => memoryBytes() - engine.joinedBytes,
  };
}
