// A project of somebody else's, with the package as npm packs it.
import { execFile, execFileSync } from "node:child_process";
import { appendFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { skipped } from "../scripts/skipped.mjs";
import { model } from "../tests/files.js";

/** Runs a program beside others; its error has what it said. */
export const run = promisify(execFile);

const here = fileURLToPath(new URL("..", import.meta.url));

/**
 * A new folder with these files, where `packages` of npm and the package itself are installed; nothing if npm cannot. Several can be made
 * side by side.
 */
export async function project(
  files: Record<string, string | Uint8Array>, packages: string[] = [], flags: string[] = [],
): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "nanoembed-app-"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module", "private": true }');
  if (packages.length > 0 && !(await npmInstalls(folder, packages, flags))) return undefined;
  unpack(folder, "nanoembed", here);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

/** Archives by the folders that npm has packed: for all projects of a file of tests the same. */
const archives = new Map<string, string>();

function packed(source: string): string {
  const known = archives.get(source);
  if (known) return known;
  const folder = mkdtempSync(join(tmpdir(), "nanoembed-packed-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const name = execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: source }).toString().trim().split("\n").at(-1)!;
  const archive = join(folder, name);
  archives.set(source, archive);
  return archive;
}

/** Installs the package in the folder `source` as npm packs it. */
export function unpack(folder: string, name: string, source: string): void {
  const home = join(folder, "node_modules", name);
  mkdirSync(home, { recursive: true });
  execFileSync("tar", ["xzf", packed(source), "-C", home, "--strip-components=1"]);
}

/** Installs the package with the default model. Where its files were not made, that of the repository is in their place. */
export function unpackModel(folder: string): void {
  unpack(folder, "nanoembed-minilm", join(here, "../models/npm"));
  const file = join(folder, "node_modules/nanoembed-minilm", basename(model));
  if (!existsSync(file)) cpSync(model, file);
}

async function npmInstalls(folder: string, packages: string[], flags: string[]): Promise<boolean> {
  // What npm's own cache has is taken without asking whether there is anything newer: versions are named.
  const always = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent", "--prefer-offline"];
  try {
    await run("npm", [...always, ...flags, ...packages], { cwd: folder });
    return true;
  } catch {
    skipped(packages.join(" "), "npm could not install them");
    // Which CI allows.
    if (process.env["NANOEMBED_UNAVAILABLE"]) appendFileSync(process.env["NANOEMBED_UNAVAILABLE"], `${packages[0]}\n`);
    return false;
  }
}
