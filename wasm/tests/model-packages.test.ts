// The package with the default model, as bundlers and runtimes give it its address, and what `load` makes of such packages.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import { load, type Address } from "../dist/index.js";
import { createWorker } from "../dist/worker.js";
import { model, root } from "./files.js";

const FILE = "all-MiniLM-L6-v2.int8.weights";
const { address } = (await import(pathToFileURL(join(root, "models/npm/address.js")).href)) as {
  address(file: string, locate: () => { href: string }): Required<Address>;
};

/** As the line in the package gives it where the bundler or the runtime says `href`. */
const at = (href: string) => address(FILE, () => ({ href }));

/** As in browsers, where nothing of Node is there. */
const outsideOfNode = () => vi.stubGlobal("process", undefined);
afterEach(() => void vi.unstubAllGlobals());

test("nothing is looked up before it is asked for", () => {
  const locate = vi.fn(() => new URL("https://example.org/model"));
  const found = address(FILE, locate);
  expect(locate).not.toHaveBeenCalled();
  expect([found.href, `${found}`]).toEqual(["https://example.org/model", "https://example.org/model"]);
});

test.each([
  ["an absolute address", "https://example.org/assets/model-1a2b.weights"],
  ["data", "data:application/octet-stream;base64,AAAA"],
])("%s stays as the bundler gives it", (_, href) => {
  expect(at(href).href).toBe(href);
  outsideOfNode();
  expect(at(href).href).toBe(href);
});

test("a path from the root on, as Next.js gives it, is one in a page", () => {
  outsideOfNode();
  expect(at("/_next/static/media/model.weights").href).toBe("/_next/static/media/model.weights");
});

test("Vite's development server has the file where the package is", () => {
  outsideOfNode();
  expect(at("http://localhost:5173/node_modules/.vite/deps/model?v=1").href).toBe("http://localhost:5173/node_modules/nanoembed-minilm/model?v=1");
});

test("in Node a file is where the code is, or where the package is installed", () => {
  expect(at(pathToFileURL(model).href).href).toBe(pathToFileURL(model).href);
  const project = mkdtempSync(join(tmpdir(), "nanoembed-installed-"));
  const home = join(project, "node_modules/nanoembed-minilm");
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, FILE), "");
  const program = `
    const { address } = await import(${JSON.stringify(pathToFileURL(join(root, "models/npm/address.js")).href)});
    const given = ["/_next/static/media/model.weights", "file:///bundle/model.weights"].map((href) => () => ({ href }));
    const all = [...given, () => new URL("./model.weights", undefined)].map((locate) => address("${FILE}", locate).href);
    console.log(JSON.stringify(all));`;
  try {
    const said = execFileSync(process.execPath, ["--input-type=module", "-e", program], { cwd: project, encoding: "utf8" });
    expect(JSON.parse(said)).toEqual(Array(3).fill(pathToFileURL(join(home, FILE)).href));
  } finally {
    rmSync(project, { recursive: true });
  }
});

test("where code has no address, errors say what to do, of `load` and of pools", async () => {
  const nowhere = address(FILE, () => new URL("./model", "nowhere"));
  expect(() => nowhere.href).toThrow(/env\.ASSETS\.fetch.*https:\/\/unpkg/);
  using pool = createWorker();
  for (const api of [{ load }, pool]) {
    await expect(api.load(nowhere)).rejects.toMatchObject({ name: "NanoembedError", code: "missing_file", message: expect.stringContaining("env.ASSETS.fetch") });
  }
});

test("an address that leads nowhere is followed by what to do", async () => {
  const lost = { href: "/no/such/model", remedy: "Copy it.", toString: () => "/no/such/model" };
  using pool = createWorker();
  for (const api of [{ load }, pool]) {
    await expect(api.load(lost)).rejects.toMatchObject({ code: "missing_file", message: "/no/such/model: no such file. Copy it." });
  }
});
