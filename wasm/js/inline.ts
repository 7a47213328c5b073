/**
 * The same as the package's main entry, with the modules inside the JavaScript: nothing is fetched. Larger by a third,
 * and without relaxed SIMD.
 *
 * @module
 */
import { api, type Api } from "./api.js";
import { inspectWith, verifyWith } from "./inspection.js";
import { modules } from "./inline-modules.js";
import { runnersOf } from "./modules.js";

export * from "./exports.js";

const all: Api = /* @__PURE__ */ api(runnersOf(modules), async () => ({
  inspect: (source, options) => inspectWith(modules.inspector, () => modules.values.ready(), source, options),
  verify: (source, options) => verifyWith(modules.inspector, source, options),
}));

export const init: Api["init"] = all.init;
export const load: Api["load"] = all.load;
export const open: Api["open"] = all.open;
export const inspect: Api["inspect"] = all.inspect;
export const verify: Api["verify"] = all.verify;
export const memoryBytes: Api["memoryBytes"] = all.memoryBytes;
