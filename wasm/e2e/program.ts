// The command line of this project, to compare the package with.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../tests/files.js";

/** What runs the program; NANOEMBED_CLI names it where it is built already. */
function command(args: string[]): [program: string, args: string[]] {
  const built = process.env["NANOEMBED_CLI"];
  return built ? [built, args] : ["cargo", ["run", "--quiet", "--locked", "-p", "nanoembed-cli", "--", ...args]];
}

/** Runs the program, also to be refused. */
export function nativeRun(args: string[]): { status: number | null; stderr: string } {
  const { status, stderr } = spawnSync(...command(args), { cwd: root });
  return { status, stderr: stderr.toString() };
}

/** Runs the program. */
export function cli(args: string[], input?: string): Buffer {
  return execFileSync(...command(args), {
    cwd: root, ...(input === undefined ? {} : { input }), maxBuffer: 1 << 28, stdio: ["pipe", "pipe", "inherit"],
  });
}

const vectors = new Map<string, Float32Array>();

/** The vectors that the native program gives for the same file and texts. */
export function native(file: string, texts: string[], options: string[] = []): Float32Array {
  const key = [file, ...options].join(" ");
  const known = vectors.get(key);
  if (known) return known;
  const folder = mkdtempSync(join(tmpdir(), "nanoembed-"));
  const output = join(folder, "vectors.npy");
  cli(["embed", "--quiet", "--model", file, "--input", "jsonl", "--output", output, ...options], texts.map((text) => `${JSON.stringify({ text })}\n`).join(""));
  const npy = readFileSync(output);
  const header = 10 + npy.readUInt16LE(8);
  const result = new Float32Array(npy.buffer.slice(npy.byteOffset + header, npy.byteOffset + npy.length));
  rmSync(folder, { recursive: true });
  vectors.set(key, result);
  return result;
}
