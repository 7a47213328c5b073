// The command line of this project, to compare the package with.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../tests/files.js";

/** Runs the program; NANOEMBED_CLI names it where it is built already. */
export function cli(args: string[], input?: string): Buffer {
  const built = process.env["NANOEMBED_CLI"];
  const [program, start] = built ? [built, []] : ["cargo", ["run", "--quiet", "--locked", "-p", "nanoembed-cli", "--"]];
  return execFileSync(program, [...start, ...args], {
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
