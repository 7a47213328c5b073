// A project of somebody else's, with the package as npm packs it.
import { execFileSync } from "node:child_process";
import { appendFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { skipped } from "../scripts/skipped.mjs";
import { model } from "../tests/files.js";

const here = fileURLToPath(new URL("..", import.meta.url));

/** A new folder with these files, where `packages` of npm and the package itself are installed; nothing if npm cannot. */
export function project(files: Record<string, string | Uint8Array>, packages: string[] = [], flags: string[] = []): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "nanoembed-app-"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module", "private": true }');
  if (packages.length > 0 && !npmInstalls(folder, packages, flags)) return undefined;
  unpack(folder, "nanoembed", here);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

/** Installs the package in the folder `source` as npm packs it. */
export function unpack(folder: string, name: string, source: string): void {
  const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: source }).toString().trim().split("\n").at(-1)!;
  const home = join(folder, "node_modules", name);
  mkdirSync(home, { recursive: true });
  execFileSync("tar", ["xzf", join(folder, packed), "-C", home, "--strip-components=1"]);
}

/** Installs the package with the default model. Where its files were not made, that of the repository is in their place. */
export function unpackModel(folder: string): void {
  unpack(folder, "nanoembed-minilm", join(here, "../models/npm"));
  const file = join(folder, "node_modules/nanoembed-minilm", basename(model));
  if (!existsSync(file)) cpSync(model, file);
}

function npmInstalls(folder: string, packages: string[], flags: string[]): boolean {
  try {
    execFileSync("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent", ...flags, ...packages], { cwd: folder, stdio: "pipe" });
    return true;
  } catch {
    skipped(packages.join(" "), "npm could not install them");
    // Which CI allows.
    if (process.env["NANOEMBED_UNAVAILABLE"]) appendFileSync(process.env["NANOEMBED_UNAVAILABLE"], `${packages[0]}\n`);
    return false;
  }
}
