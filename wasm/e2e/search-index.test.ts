// The index that stays: from visit to visit, in two tabs, where there is no more room, and after a tab was closed in the middle.
// NANOEMBED_PASSAGES says how many passages the test of endurance has.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { load } from "../dist/index.js";
import { createIndex } from "../dist/search-index.js";
import { modelBytes, root, sentences } from "../tests/files.js";
import { dist, executablePath, inBrowser, launch } from "./browser.js";
import { cli } from "./program.js";
import { serve, type TestServer } from "./server.js";

let server: TestServer;
let browser: Browser;
let context: BrowserContext;

beforeAll(async () => {
  if (!executablePath) return;
  server = await serve({ "/dist/": dist, "/models/": join(root, "models") }, {});
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});
// What is kept is a context's.
beforeEach(async () => {
  context = await browser?.newContext();
});
afterEach(() => context?.close());

/** A page that has the package, and a model whose vectors are made of a text's letters: `{ letters, createIndex, … }`. */
async function openPage(): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${server.origin}/blank`);
  await page.evaluate(`(async () => {
    Object.assign(window, await import("/dist/search-index.js"));
    window.letters = (dims = 64, turn = 1) => {
      const vector = (text) => {
        const counts = new Float32Array(dims);
        for (const letter of text.toLowerCase()) counts[(letter.charCodeAt(0) * turn * 7) % dims] += 1;
        const length = Math.hypot(...counts) || 1;
        return counts.map((count) => count / length);
      };
      return { kind: "sentences", dims, maxTokens: 64, prompts: [],
        embedDocuments: async (texts) => {
          const data = new Float32Array(texts.length * dims);
          texts.forEach((text, at) => data.set(vector(text), at * dims));
          return { data, dims, tokens: texts.map(() => 3), truncated: texts.map(() => false) };
        },
        embedQuery: async (text) => ({ data: vector(text), dims, tokens: 3, truncated: false }),
        tokenize: async (text) => ({ ids: new Uint32Array(), total: Math.min(3, text.length), truncated: false }) };
    };
    window.failure = (error) => ({ name: error.name, code: error.code, message: error.message });
  })()`);
  return page;
}

const run = <R>(page: Page, body: string, argument: unknown = null): Promise<R> =>
  page.evaluate(`(async () => { const argument = ${JSON.stringify(argument)}; ${body} })()`) as Promise<R>;

const NAMES = ["apple pie", "zebra crossing", "quiet night", "jumping fox"];

inBrowser.each(["indexeddb", "opfs"] as const)("an index that is kept in %s", (store) => {
  test("is there after a reload, and after documents were removed", async () => {
    const page = await openPage();
    await run(page, `const index = await createIndex({ model: letters(), store: argument.store });
      await index.add(argument.names.map((text, at) => ({ id: text, text, metadata: { at } })));
      await index.remove("quiet night");`, { store, names: NAMES });
    const again = await openPage();
    await page.close();
    const { hits, count } = await run<{ hits: { id: string; metadata: unknown; text: string }[]; count: number }>(again,
      `const index = await createIndex({ model: letters(), store: argument.store });
       return { hits: await index.search("zebra crossing"), count: index.documents };`, { store });
    expect(hits[0]).toMatchObject({ id: "zebra crossing", text: "zebra crossing", metadata: { at: 1 } });
    expect(hits.map(({ id }) => id)).not.toContain("quiet night");
    expect(count).toBe(3);
  });

  test("is the same in two tabs, whoever writes", async () => {
    const pages = [await openPage(), await openPage()];
    for (const page of pages) await run(page, `window.index = await createIndex({ model: letters(), store: argument.store })`, { store });
    // Both at once: nothing is lost, nothing is written twice.
    await Promise.all(pages.map((page, tab) => run(page, `for (let at = 0; at < 30; at += 1) await index.add({ id: argument.tab + "-" + at, text: argument.tab + " text " + at })`, { tab })));
    for (const page of pages) {
      await expect.poll(() => run<number>(page, `return (await index.ids()).length`)).toBe(60);
    }
    await run(pages[0]!, `await index.add({ id: "new", text: "xylophone" }); await index.remove("1-3");`);
    await expect.poll(() => run<string>(pages[1]!, `return (await index.search("xylophone"))[0].id`)).toBe("new");
    expect(await run<boolean>(pages[1]!, `return index.has("1-3")`)).toBe(false);
    // What is gone in one is gone in the other, also if all was merged before that one looked.
    await run(pages[0]!, `await index.remove(["0-5", "new"]); for (let at = 0; at < 60; at += 1) await index.add({ id: "more " + at, text: "more" })`);
    expect(await run<string[]>(pages[1]!, `return (await index.ids()).filter((id) => ["0-5", "new", "more 59"].includes(id))`)).toEqual(["more 59"]);
    const whole = await run<string[]>(await openPage(), `return (await (await createIndex({ model: letters(), store: argument.store })).ids()).sort()`, { store });
    expect(whole).toEqual((await run<string[]>(pages[0]!, `return index.ids()`)).sort());
    // Small segments were merged.
    expect(await run<number>(pages[0]!, store === "opfs"
      ? `const top = await (await navigator.storage.getDirectory()).getDirectoryHandle("nanoembed-index"); const names = [];
         for await (const name of (await top.getDirectoryHandle("default")).keys()) names.push(name); return names.length`
      : `return new Promise((resolve) => { const opening = indexedDB.open("nanoembed-index default");
         opening.onsuccess = () => { opening.result.transaction("segments").objectStore("segments").count().onsuccess = ({ target }) => resolve(target.result); }; })`)).toBeLessThan(40);
  });

  test("keeps what it has said it keeps when the tab is closed in the middle", async () => {
    const page = await openPage();
    let kept = 0;
    await page.exposeFunction("tell", (documents: number) => (kept = Math.max(kept, documents)));
    await run(page, `const index = await createIndex({ model: letters(), store: argument.store });
      const many = Array.from({ length: 100_000 }, (_, at) => ({ id: String(at), text: "text " + at }));
      void index.add(many, { onProgress: ({ documents }) => tell(documents) });`, { store });
    await expect.poll(() => kept, { timeout: 30_000 }).toBeGreaterThan(2000);
    // As when a process dies: nothing is told.
    const session = await context.newCDPSession(page);
    void session.send("Page.crash").catch(() => {});
    await new Promise((over) => setTimeout(over, 500));
    const ids = await run<string[]>(await openPage(), `return (await createIndex({ model: letters(), store: argument.store })).ids()`, { store });
    expect(ids.length).toBeGreaterThanOrEqual(kept);
    expect(ids).toEqual(ids.map((_, at) => String(at)));
    await page.close();
  });

  test("is whole after it was closed in the middle, wherever that was", async () => {
    const page = await openPage();
    const told = await run<{ kept: number; error: { code: string; message: string } }[]>(page, `const results = [];
      for (let turn = 0; turn < 12; turn += 1) {
        const index = await createIndex({ model: letters(), store: argument.store, name: "closed " + turn });
        let kept = 0;
        const adding = (async () => {
          // Small parts, which are merged now and then.
          for (let at = 0; at < 3000; at += 10) {
            await index.add(Array.from({ length: 10 }, (_, of) => ({ id: String(at + of), text: "text " + (at + of) })), { onProgress: () => (kept = at + 10) });
          }
        })().then(() => undefined, failure);
        const searching = (async () => { for (;;) await index.search("text").then(() => new Promise((over) => setTimeout(over))); })().catch(failure);
        await new Promise((over) => setTimeout(over, 40 * turn));
        // The last one has merged parts, on a slow machine, too.
        while (turn === 11 && kept <= 160) await new Promise((over) => setTimeout(over));
        const before = kept;
        index.close();
        results.push({ kept: before, error: await adding, searched: await searching });
      }
      return results;`, { store });
    const disposed = (turn: number) => ({ name: "NanoembedError", code: "disposed", message: `the index "closed ${turn}" was closed` });
    expect(told).toMatchObject(told.map((_, turn) => ({ error: disposed(turn), searched: disposed(turn) })));
    const again = await openPage();
    for (const [turn, { kept }] of told.entries()) {
      const ids = await run<string[]>(again, `return (await createIndex({ model: letters(), store: argument.store, name: argument.name })).ids()`, { store, name: `closed ${turn}` });
      expect(ids.length % 10).toBe(0);
      expect(ids.length).toBeGreaterThanOrEqual(kept);
      expect(ids).toEqual(ids.map((_, at) => String(at)));
    }
  });

  test("can be used after there was no more room", async () => {
    const page = await openPage();
    const session = await context.newCDPSession(page);
    // Before anything is kept: for some seconds databases go by the room that there was.
    await session.send("Storage.overrideQuotaForOrigin", { origin: server.origin, quotaSize: 1_000_000 });
    await run(page, `window.index = await createIndex({ model: letters(), store: argument.store }); await index.add({ id: "first", text: "apple pie" })`, { store });
    const error = await run<{ code: string; message: string }>(page,
      `return index.add(Array.from({ length: 9 }, (_, at) => ({ id: "large " + at, text: "0123456789".repeat(100_000) }))).then(() => "fits", failure)`);
    expect(error).toMatchObject({ name: "NanoembedError", code: "quota_exceeded", message: expect.stringMatching(/remove documents.*persist.*export/) });
    expect(await run<string[]>(page, `return index.ids()`)).toEqual(["first"]);
    expect(await run<string>(page, `return (await index.search("apple"))[0].id`)).toBe("first");
    await session.send("Storage.overrideQuotaForOrigin", { origin: server.origin });
    await run(page, `await index.add({ id: "second", text: "zebra" })`);
    expect(await run<string[]>(await openPage(), `return (await createIndex({ model: letters(), store: argument.store })).ids()`, { store })).toEqual(["first", "second"]);
  });

  test("is refused with another model, by name, and can be deleted while it is open", async () => {
    const page = await openPage();
    await run(page, `window.index = await createIndex({ model: letters(), store: argument.store, name: "my notes", modelName: "letters" }); await index.add({ id: "a", text: "apple" })`, { store });
    const refused = (options: string) => run<{ code: string; message: string }>(page, `return createIndex({ store: argument.store, name: "my notes", ${options} }).then(() => "opened", failure)`, { store });
    expect(await refused(`model: letters(), modelName: "words"`)).toMatchObject({ code: "other_model", message: expect.stringMatching(/the index "my notes" holds vectors of "letters" \(64 elements\), and this is "words"/) });
    expect(await refused(`model: letters(32)`)).toMatchObject({ code: "other_model", message: expect.stringMatching(/64 elements.*32 elements/) });
    expect(await refused(`model: letters(64, 5)`)).toMatchObject({ code: "other_model" });
    expect(await refused(`model: letters()`)).toBe("opened");
    await run(page, `await deleteIndex(argument.store, "my notes")`, { store });
    expect(await run<string[]>(page, `return index.ids()`)).toEqual([]);
    await run(page, `await index.add({ id: "b", text: "bread" })`);
    expect(await run<string[]>(page, `return index.ids()`)).toEqual(["b"]);
    expect(await refused(`model: letters(64, 5)`)).toMatchObject({ code: "other_model" });
  });

  test("says which part is damaged", async () => {
    const page = await openPage();
    const error = await run<{ code: string; message: string }>(page, `const index = await createIndex({ model: letters(), store: argument.store, name: "notes" });
      await index.add({ id: "a", text: "apple" });
      index.close();
      const damage = (bytes) => { bytes[bytes.length - 8] ^= 4; return bytes };
      if (argument.store === "opfs") {
        const top = await (await navigator.storage.getDirectory()).getDirectoryHandle("nanoembed-index");
        for await (const handle of (await top.getDirectoryHandle("notes")).values()) {
          const bytes = damage(new Uint8Array(await (await handle.getFile()).arrayBuffer()));
          const file = await handle.createWritable();
          await file.write(bytes);
          await file.close();
        }
      } else {
        await new Promise((resolve) => { indexedDB.open("nanoembed-index notes").onsuccess = ({ target: { result } }) => {
          const segments = result.transaction("segments", "readwrite");
          segments.oncomplete = resolve;
          segments.objectStore("segments").openCursor().onsuccess = ({ target: { result } }) => result && result.update(damage(result.value));
        } });
      }
      return createIndex({ model: letters(), store: argument.store, name: "notes" }).then(() => "opened", failure);`, { store });
    expect(error).toMatchObject({ code: "data_checksum", message: expect.stringMatching(/segment \d{14}-\d{14} of the index "notes" is damaged.*deleteIndex/) });
  });

  test("of many passages is soon there, and soon searched", async () => {
    const passages = Number(process.env["NANOEMBED_PASSAGES"] ?? 5000);
    const page = await openPage();
    const measure = `const spread = async (run) => { const times = []; for (let at = 0; at < 21; at += 1) { const start = performance.now(); await run(at); times.push(performance.now() - start); }
        return times.sort((a, b) => a - b)[10]; };
      const noise = (seed) => Float32Array.from({ length: 384 }, () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 31 - 1);
      const searched = (index) => spread((at) => index.search(noise(at + 1)));`;
    const adding = await run<Record<string, number>>(page, `${measure}
      // What adds is the index: vectors are made at once.
      const some = Array.from({ length: 97 }, (_, at) => noise(at + 1000));
      const base = letters(384);
      const model = { ...base, embedDocuments: async (texts) => {
        if (texts.length === 1) return base.embedDocuments(texts);
        const data = new Float32Array(texts.length * 384);
        for (let at = 0; at < texts.length; at += 1) data.set(some[Math.floor(Math.random() * 97)].map((x) => x + Math.random()), at * 384);
        return { ...(await base.embedDocuments([""])), data };
      } };
      const index = await createIndex({ model, store: argument.store });
      const text = "A passage of some two hundred characters, as texts have them on the whole, so that texts take what they take. ".repeat(2);
      const long = [];
      const watching = new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration)));
      watching.observe({ type: "longtask" });
      const start = performance.now();
      await index.add(Array.from({ length: argument.passages }, (_, at) => ({ id: String(at), text: at + text })));
      const added = performance.now() - start;
      await new Promise((over) => setTimeout(over, 100));
      watching.disconnect();
      return { added, search: await searched(index), longTasks: long.length, longest: Math.max(0, ...long) };`, { store, passages });
    await page.close();
    const again = await openPage();
    const reload = await run<Record<string, number>>(again, `${measure}
      const start = performance.now();
      const index = await createIndex({ model: letters(384), store: argument.store });
      const opened = performance.now() - start;
      const binary = await createIndex({ model: letters(384), store: argument.store, vectors: "binary" });
      const found = { search: await searched(index), binary: await searched(binary) };
      // All of these are one task.
      await new Promise((over) => setTimeout(over));
      const long = [];
      new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" });
      const asked = performance.now();
      await index.search("what do texts take?", { by: "words" });
      const firstByWords = performance.now() - asked;
      await new Promise((over) => setTimeout(over, 100));
      const byWords = await spread((at) => index.search("what do " + at + " texts take?", { by: "words" }));
      return { opened, passages: index.passages, memory: index.memoryBytes, ...found, firstByWords, byWords, longest: Math.max(0, ...long) };`, { store });
    console.log(JSON.stringify({ store, adding, reload }));
    expect(reload).toMatchObject({ passages });
    expect(reload["memory"]).toBeLessThan(1.2 * 384 * passages + 2_000_000);
  });
});

inBrowser("the index with a real model", () => {
  test("is made in workers, and asked", async () => {
    const page = await openPage();
    const hit = await run<{ id: string }>(page, `const { createWorker } = await import("/dist/worker.js");
      const pool = createWorker({ workers: 2 });
      const model = await pool.load("/models/all-MiniLM-L6-v2.int8.weights", { kind: "sentences" });
      const index = await createIndex({ model, store: "opfs", chunk: { tokens: 32, overlap: 4 } });
      const filler = "The cat sat on the mat. Interest rates went up. It rained all day. ".repeat(20);
      await index.add([{ id: "long", text: filler + "Bread is made of flour and water. " + filler }, { id: "short", text: "Rockets fly to the moon." }]);
      const [hit] = await index.search("How do I bake?");
      pool.dispose();
      return { ...hit, length: filler.length };`);
    expect(hit).toMatchObject({ id: "long", text: expect.stringContaining("Bread is made of flour") });
  });
});

test("what is found in a folder's texts is what the command line finds", async () => {
  const texts = sentences().map(({ text }) => text).filter((text) => text.length < 300 && text.trim() !== "");
  const folder = mkdtempSync(join(tmpdir(), "nanoembed-search-"));
  const model = await load(modelBytes(), { kind: "sentences" });
  const index = await createIndex({ model });
  try {
    await index.add(texts.map((text, at) => ({ id: String(at + 1), text })));
    const file = join(folder, "texts.jsonl");
    writeFileSync(file, texts.map((text) => `${JSON.stringify({ text })}\n`).join(""));
    for (const question of ["What is the weather in France?", "snake_case or camelCase", "ist das eine naïve façade", "французских булок", "to be or not", "kanji 漢字"]) {
      for (const [by, ...option] of [["both"], ["words", "--exact"], ["meaning", "--meaning"]] as const) {
        const lines = cli(["search", "--quiet", "--json", "-k", "100", ...option, question, file]).toString().trim().split("\n");
        const expected = lines.filter(Boolean).map((line) => JSON.parse(line) as { line: number; score: number; similarity: number | null });
        const found = await index.search(question, { by, k: 100 });
        expect(found.length, `${by} ${question}`).toBe(expected.length);
        const places = new Map(found.map(({ id }, place) => [Number(id), place]));
        let before = { place: -1, score: Infinity };
        for (const { line, score, similarity } of expected) {
          const place = places.get(line)!;
          expect(found[place]!.score, `${by} ${question} ${texts[line - 1]}`).toBeCloseTo(score, 3);
          if (similarity !== null) expect(found[place]!.similarity).toBeCloseTo(similarity, 3);
          // Those that score nearly the same may change places.
          if (before.score - score > 0.001) expect(place).toBeGreaterThan(before.place);
          before = { place, score };
        }
      }
    }
  } finally {
    index.close();
    model.dispose();
    rmSync(folder, { recursive: true });
  }
});
