// The index that a program keeps in a folder.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SentenceModel } from "../dist/index.js";
import { createIndex, deleteIndex } from "../dist/search-index.js";
import { root } from "./files.js";

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "nanoembed-index-")), "notes");
});
afterEach(() => rmSync(join(folder, ".."), { recursive: true }));

/** A model whose vectors are made of a text's letters. */
const LETTERS = `({
  kind: "sentences", dims: 64, maxTokens: 64, prompts: [],
  embedDocuments: async (texts) => ({
    data: Float32Array.from(texts.flatMap((text) => Array.from({ length: 64 }, (_, at) => [...text].filter((letter) => letter.charCodeAt(0) % 64 === at).length))),
    dims: 64, tokens: texts.map(() => 3), truncated: texts.map(() => false),
  }),
  async embedQuery(text) { return { ...(await this.embedDocuments([text])), tokens: 3, truncated: false }; },
  tokenize: async (text) => ({ ids: new Uint32Array(), total: Math.min(3, text.length), truncated: false }),
})`;
const model = (0, eval)(LETTERS) as SentenceModel;
const open = () => createIndex({ model, store: "folder", name: folder });

/** Another program that has the index open, or that adds to it until it is killed. */
const program = (rest: string) => ["--input-type=module", "--eval", `
  import { createIndex } from ${JSON.stringify(join(root, "wasm/dist/search-index.js"))};
  const index = await createIndex({ model: ${LETTERS}, store: "folder", name: ${JSON.stringify(folder)} });
  ${rest}`];

test("is there for the next program, with what was removed and merged", async () => {
  const index = await open();
  for (let at = 0; at < 20; at += 1) await index.add({ id: String(at), text: `text number ${at}`, metadata: { at } });
  await index.remove("3");
  const hits = await index.search("number 7");
  index.close();
  await expect.poll(() => readdirSync(folder).includes("in-use.json")).toBe(false);
  // Of segments of about one size there are never many.
  expect(readdirSync(folder).length).toBeLessThan(16);
  const again = await open();
  expect([again.documents, await again.has("3")]).toEqual([19, false]);
  expect(await again.search("number 7")).toEqual(hits);
  expect(await again.get("7")).toEqual({ id: "7", text: "text number 7", metadata: { at: 7 } });
  again.close();
});

test("is open in one program at a time", async () => {
  const other = spawn(process.execPath, program(`console.log("open"); setInterval(() => {}, 1000);`), { stdio: ["ignore", "pipe", "inherit"] });
  await once(other.stdout, "data");
  await expect(open()).rejects.toMatchObject({ code: "store_in_use", message: expect.stringContaining(`process ${other.pid}`) });
  await expect(deleteIndex("folder", folder)).rejects.toMatchObject({ code: "store_in_use" });
  // One that was killed holds nothing any more.
  other.kill("SIGKILL");
  await once(other, "exit");
  const index = await open();
  await expect(open()).rejects.toMatchObject({ code: "store_in_use", message: expect.stringContaining(`process ${process.pid}`) });
  index.close();
});

test("believes no lock of a process whose number came again, and one of another machine", async () => {
  const own = { pid: process.pid, host: hostname(), started: 1_000_000 };
  (await open()).close();
  await expect.poll(() => readdirSync(folder)).toEqual([]);
  const lock = join(folder, "in-use.json");
  writeFileSync(lock, JSON.stringify(own));
  const index = await open();
  expect(JSON.parse(readFileSync(lock, "utf8"))).toMatchObject({ pid: process.pid });
  index.close();
  await expect.poll(() => readdirSync(folder)).toEqual([]);
  for (const held of [JSON.stringify({ ...own, host: "elsewhere" }), "", "{}", "null", JSON.stringify({ ...own, pid: "1" })]) {
    writeFileSync(lock, held);
    await expect(open()).rejects.toMatchObject({ code: "store_in_use", message: expect.stringContaining(`remove ${lock}`) });
    expect(readFileSync(lock, "utf8")).toBe(held);
  }
});

test("has all that a program was told of before it was killed, whenever that was", async () => {
  for (let round = 0; round < 6; round += 1) {
    const other = spawn(process.execPath, program(`
      for (let at = index.documents; ; at += 1) {
        await index.add({ id: String(at), text: "text ".repeat(40) + at });
        console.log(at + 1);
      }`), { stdio: ["ignore", "pipe", "inherit"] });
    let told = "";
    other.stdout.setEncoding("utf8").on("data", (text: string) => {
      told += text;
      if (told.split("\n").length > 4 + 3 * round) other.kill("SIGKILL");
    });
    await once(other, "close");
    const count = Number(told.trim().split("\n").at(-1));
    const index = await open();
    expect(readdirSync(folder).filter((name) => name.endsWith(".part"))).toEqual([]);
    // The next may have been kept, and not have been told.
    expect([count, count + 1]).toContain(index.documents);
    expect(await index.ids()).toEqual(Array.from({ length: index.documents }, (_, at) => String(at)));
    index.close();
    await expect.poll(() => readdirSync(folder).includes("in-use.json")).toBe(false);
  }
});

test("leaves other files alone, and is deleted", async () => {
  const index = await open();
  await index.add({ id: "a", text: "text" });
  index.close();
  writeFileSync(join(folder, "notes.txt"), "mine");
  await expect.poll(() => readdirSync(folder).includes("in-use.json")).toBe(false);
  await deleteIndex("folder", folder);
  await expect.poll(() => readdirSync(folder)).toEqual(["notes.txt"]);
  const again = await open();
  expect(again.documents).toBe(0);
  again.close();
});

test("says what cannot be read or written", async () => {
  const index = await open();
  await index.add({ id: "a", text: "text" });
  index.close();
  await expect.poll(() => readdirSync(folder).length).toBe(1);
  const [segment] = readdirSync(folder);
  const bytes = readFileSync(join(folder, segment!));
  writeFileSync(join(folder, segment!), bytes.subarray(0, -1));
  await expect(open()).rejects.toMatchObject({ name: "NanoembedError", message: expect.stringMatching(/is damaged/) });
  await expect.poll(() => readdirSync(folder).length).toBe(1);
  writeFileSync(join(folder, segment!), bytes);
  await expect(createIndex({ model, store: "folder" })).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringContaining("path") });
  writeFileSync(join(folder, "file"), "");
  await expect(createIndex({ model, store: "folder", name: join(folder, "file") })).rejects.toMatchObject({ code: "store_unavailable" });
  const full = spawnSync("bash", ["-c", `ulimit -f 1; exec "$0" "$@"`, process.execPath, ...program(`
    process.on("SIGXFSZ", () => {});
    await index.add({ id: "large", text: "text ".repeat(2000) }).catch(({ code }) => console.log(code, index.documents));
    index.close();`)], { encoding: "utf8" });
  expect(full.stdout.trim()).toBe("write_failed 1");
  const again = await open();
  expect(await again.ids()).toEqual(["a"]);
  again.close();
});
