// The command line for Node against the native program; `npm run build:cli` builds it, which takes some minutes.
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { data, largestDifference, root } from "../tests/files.js";
import { cli, native, nativeRun } from "./program.js";
import { unpack } from "./project.js";

const wasm = join(root, "wasm");
const models = join(data, "models");
/** The same time for both programs, as it stands in their files. */
const env: NodeJS.ProcessEnv = { ...process.env, SOURCE_DATE_EPOCH: "0" };

let folder: string;
let program: string;

beforeAll(() => {
  if (!existsSync(join(wasm, "cli/nanoembed.wasm"))) execFileSync(process.execPath, [join(wasm, "scripts/build-program.mjs")], { stdio: "inherit" });
  process.env["SOURCE_DATE_EPOCH"] = "0";
  folder = mkdtempSync(join(tmpdir(), "nanoembed-cli-"));
  unpack(folder, "nanoembed", wasm);
  unpack(folder, "nanoembed-cli", join(wasm, "cli"));
  program = join(folder, "node_modules/nanoembed/bin/nanoembed.js");
}, 900_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: string[], input = "", cwd = root) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { cwd, env, input, maxBuffer: 1 << 28 });
  return { status, stdout: stdout.toString(), stderr: stderr.toString() };
};

/** Types that a file's ending may have beside the one it has without `--type`. */
const FORMS = [["weights"], ["weights", "--type", "int8", "--for-web"], ["weights", "--type", "f16"], ["amb"], ["gguf"], ["gguf", "--type", "q8_0"]];

/** The file that the native program writes, or its word of refusal. */
function nativeFile(args: string[], made: string): Buffer | string {
  const { status, stderr } = nativeRun(args);
  if (status !== 0) return stderr;
  const file = readFileSync(made);
  rmSync(made);
  return file;
}

describe("convert", () => {
  let known = 0;
  test.each(readdirSync(models).filter((name) => existsSync(join(models, name, "config.json"))))("%s, byte for byte", (name) => {
    for (const [ending, ...type] of FORMS) {
      const made = join(folder, `made.${ending}`);
      // The same name, as messages have it.
      const convert = ["convert", "--quiet", join(models, name), made, ...type];
      const expected = nativeFile(convert, made);
      const { status, stderr } = run(convert);
      // What one refuses the other refuses.
      expect(status === 0 || stderr, convert.join(" ")).toBe(typeof expected === "string" ? expected : true);
      expect(existsSync(made) && readFileSync(made).equals(expected as Buffer), convert.join(" ")).toBe(status === 0);
      if (status === 0) known += 1;
      rmSync(made, { force: true });
    }
  });

  test("most of them are written", () => expect(known).toBeGreaterThan(50));

  test("names of files are relative to where it is called, and what is there is replaced", () => {
    const inside = join(folder, "node_modules");
    const args = ["convert", "--quiet", relative(inside, join(models, "bert_cased")), "../out.weights"];
    writeFileSync(join(folder, "out.weights"), "something else");
    expect(run(args, "", inside)).toEqual({ status: 0, stdout: "", stderr: "" });
    cli(["convert", "--quiet", join(models, "bert_cased"), join(folder, "native.weights")]);
    expect(readFileSync(join(folder, "out.weights")).equals(readFileSync(join(folder, "native.weights")))).toBe(true);
    // Nothing unfinished stays.
    expect(readdirSync(folder).filter((name) => name.endsWith(".part"))).toEqual([]);
  });
});

test("inspect and tokenize say what the native program says", () => {
  for (const args of [
    ["inspect", "--json", "ffi/tests/data/small_bert.weights", "tests/data/gguf/blocks.gguf", "tests/data/models/gte"],
    ["tokenize", "--model", "tests/data/models/roberta", "The cat sat on the mat."],
    ["verify", "tests/data/finalfusion/explicit.fifu"],
    ["--help"],
  ]) expect(run(args)).toEqual({ status: 0, stdout: cli(args).toString(), stderr: "" });
});

test("embed reads texts from stdin", () => {
  const texts = ["The cat sat on the mat.", "Interest rates went up.", "Bread is made of flour."];
  const file = "tests/data/models/bert_cased";
  const { status, stdout } = run(["embed", "--quiet", "--format", "jsonl", "--model", file], texts.join("\n"));
  expect(status).toBe(0);
  const vectors = stdout.trim().split("\n").flatMap((line) => (JSON.parse(line) as { embedding: number[] }).embedding);
  expect(largestDifference(vectors, native(file, texts))).toBeLessThan(1e-5);
});

test("errors have the exit codes and messages of the native program", () => {
  const missing = run(["inspect", "no/such/file"]);
  expect([missing.status, missing.stderr]).toEqual([3, "error[501]: no/such/file: no such file or folder\n"]);
  expect(run(["inspect", "README.md"]).status).toBe(1);
  expect(run(["convert"]).status).toBe(2);
});

/** A registry with the two packages as npm packs them. */
async function registry() {
  const tarballs = new Map(["nanoembed", "nanoembed-cli"].map((name) => {
    const source = name === "nanoembed" ? wasm : join(wasm, "cli");
    const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: source }).toString().trim().split("\n").at(-1)!;
    return [name, readFileSync(join(folder, packed))];
  }));
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const [, name = "", rest] = request.url!.split("/");
    asked.push(name);
    const tarball = tarballs.get(name);
    if (!tarball) return void response.writeHead(404).end();
    if (rest) return void response.end(tarball);
    const manifest = JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8")) as { version: string };
    const address = `http://${request.headers.host}/${name}/-/${name}.tgz`;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({
      name, "dist-tags": { latest: manifest.version }, versions: { [manifest.version]: { ...manifest, dist: { tarball: address } } },
    }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked, close: () => server.close() };
}

test("npx gets the program when it is first called", async () => {
  const server = await registry();
  const here = mkdtempSync(join(tmpdir(), "nanoembed-npx-"));
  try {
    const { stdout } = await promisify(execFile)("npx", ["--yes", "nanoembed", "inspect", join(data, "finalfusion/explicit.fifu")], {
      cwd: here, env: { ...env, npm_config_registry: server.address, npm_config_cache: join(here, "cache") },
    });
    expect(stdout).toContain("finalfusion");
    expect(server.asked).toContain("nanoembed-cli");
  } finally {
    server.close();
    rmSync(here, { recursive: true });
  }
});

test("without npm it says which package to install", () => {
  const alone = mkdtempSync(join(tmpdir(), "nanoembed-alone-"));
  unpack(alone, "nanoembed", wasm);
  const { npm_execpath: _, ...others } = env;
  const { status, stderr } = spawnSync(process.execPath, [join(alone, "node_modules/nanoembed/bin/nanoembed.js"), "--help"], { env: others });
  expect(status).toBe(1);
  expect(stderr.toString()).toMatch(/npm install nanoembed-cli@\d/);
  rmSync(alone, { recursive: true });
});
