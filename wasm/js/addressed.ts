// Models by their addresses, which databases keep with tables and collections: they make an embedding function of an address
// anew for each of them, LanceDB for each call.
import { check } from "./errors.js";
import { load } from "./index.js";
import type { SentenceModel } from "./sentences.js";
import { addressOf, type Address } from "./source.js";

const models = new Map<string, Promise<SentenceModel>>();

/** The address as text. `example` is the call that has one. */
export function pathOf(path: string | Address | null | undefined, example: string): string {
  const address = addressOf(path ?? undefined);
  check(address !== undefined, `the model's address is missing: ${example}`);
  return address;
}

/** The model at that address, which stays loaded. One that could not be loaded is tried again. */
export function modelAt(path: string): Promise<SentenceModel> {
  const known = models.get(path);
  if (known) return known;
  const model = load(path, { kind: "sentences" });
  models.set(path, model);
  model.catch(() => models.delete(path));
  return model;
}
