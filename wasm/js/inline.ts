/**
 * The same as the package's main entry, with the modules inside the JavaScript: nothing is fetched. Larger by a third,
 * and without relaxed SIMD.
 *
 * @module
 */
import { api, type Api, type FullGlue } from "./api.js";
import { Engine, type InspectGlue } from "./engine.js";
import { inspectWith, verifyWith, type ValuesGlue } from "./inspection.js";
import * as fullGlue from "./generated/full.js";
import * as inspectGlue from "./generated/inspect.js";
import * as valuesGlue from "./generated/values.js";
import fullModule from "../dist/nanoembed.wasm";
import inspectModule from "../dist/nanoembed-inspect.wasm";
import valuesModule from "../dist/nanoembed-values.wasm";

export * from "./exports.js";

const inspector = /* @__PURE__ */ new Engine(inspectGlue as unknown as InspectGlue, () => inspectModule as BufferSource);
const values = /* @__PURE__ */ new Engine(valuesGlue as unknown as ValuesGlue, () => valuesModule as BufferSource);

const all: Api = /* @__PURE__ */ api(
  new Engine(fullGlue as unknown as FullGlue, () => fullModule as BufferSource),
  async () => ({
    inspect: (source, options) => inspectWith(inspector, values, source, options),
    verify: (source, options) => verifyWith(inspector, source, options),
    memoryBytes: () => inspector.memoryBytes + values.memoryBytes,
  }),
);

export const init: Api["init"] = (options) => all.init(options);
export const load: Api["load"] = ((source, options) => all.load(source, options)) as Api["load"];
export const open: Api["open"] = (source, options) => all.open(source, options);
export const inspect: Api["inspect"] = (source, options) => all.inspect(source, options);
export const verify: Api["verify"] = (source, options) => all.verify(source, options);
export const memoryBytes: Api["memoryBytes"] = () => all.memoryBytes();
