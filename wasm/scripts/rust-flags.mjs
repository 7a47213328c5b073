// What rustc is told, for cargo's environment.
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const cargoHome = process.env.CARGO_HOME ?? join(homedir(), ".cargo");

/**
 * The variable that gives rustc these flags, divided by spaces, and names in place of the building machine's folders: what is
 * published has no user's name in it and is the same wherever it is built.
 */
export function rustFlags(flags) {
  const names = [[root, "/nanoembed"], [cargoHome, "/cargo"]].map(([folder, name]) => `--remap-path-prefix=${folder}=${name}`);
  return { CARGO_ENCODED_RUSTFLAGS: [...flags.split(" ").filter(Boolean), ...names].join("\x1f") };
}
