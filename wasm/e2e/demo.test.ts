// The demo pages, built, as a visitor uses them: on a desk, on a phone, and without a network. SCREENSHOTS names a folder
// for pictures.
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { build } from "vite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { data, model, modelBytes } from "../tests/files.js";
import { executablePath, inBrowser, launch, openPage } from "./browser.js";
import { native } from "./program.js";
import { serve, type TestServer } from "./server.js";

const demo = fileURLToPath(new URL("../demo", import.meta.url));
const pictures = process.env["SCREENSHOTS"];

/** What finds mistakes that keep people from using a page. */
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
interface Axe {
  run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
}

/** The texts of the page Same everywhere, and the hashes of their vectors that it knows. */
const linesOf = (name: string) => readFileSync(join(demo, "same", name), "utf8").trim().split("\n");
const shown = linesOf("texts.txt");
const hashesOf = (name: string) => linesOf(`${name}.sha256`);

let server: TestServer;
let browser: Browser;

beforeAll(async () => {
  if (!executablePath) return;
  await build({ root: demo, configFile: join(demo, "vite.config.ts"), logLevel: "error" });
  server = await serve({ "/": join(demo, "dist") }, {});
  browser = await launch();
  if (pictures) mkdirSync(pictures, { recursive: true });
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

const shot = async (page: Page, name: string) => {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`) });
};
const status = (page: Page, text: RegExp) =>
  page.waitForFunction((source) => new RegExp(source).test(document.getElementById("status")!.textContent ?? ""), text.source, { timeout: 120_000 });

inBrowser("the demo", () => {
  test("Search finds passages by meaning as one types", async () => {
    const { page, complaints } = await openPage(browser, `${server.origin}/search.html`);
    await page.setViewportSize({ width: 1180, height: 860 });
    await status(page, /passages searched in/);
    expect(await page.textContent("#hits li:first-child span")).toContain("Photosynthesis");
    await page.fill("#question", "I can't log in any more");
    await page.waitForFunction(() => document.querySelector("#hits li")?.textContent?.includes("password"));
    expect(await page.textContent("#picked")).toContain("password");
    await shot(page, "search");
    const best = await page.textContent("#hits li:first-child b");
    expect(Number(best)).toBeGreaterThan(0.3);
    await page.fill("#text", "Apples are red.\n\nThe moon is far away.");
    await status(page, /2 passages/);
    await page.fill("#question", "fruit");
    await page.waitForFunction(() => document.querySelector("#hits li")?.textContent?.includes("Apples"));
    await page.locator("#map").click({ position: { x: 20, y: 20 } });
    await page.focus("#hits li:last-child");
    await page.keyboard.press("Enter");
    expect(await page.textContent("#picked")).toContain("moon");
    await page.fill("#text", " ");
    await page.waitForFunction(() => document.querySelectorAll("#hits li").length === 0);
    expect(await page.textContent("#picked")).toContain("Point at a dot");
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("Search reads folders, and has them at the next visit", async () => {
    const folder = mkdtempSync(join(tmpdir(), "nanoembed-"));
    const notes = join(folder, "notes");
    mkdirSync(join(notes, "more"), { recursive: true });
    const filler = "It rained all day, and nobody went out. ".repeat(300);
    writeFileSync(join(notes, "long.txt"), `${filler}The penguin lives in Antarctica and cannot fly. ${filler}`);
    writeFileSync(join(notes, "more", "short.md"), "My bicycle has a flat tyre.\n\nGouda is made of milk.");
    writeFileSync(join(notes, "picture.bin"), new Uint8Array([0, 1, 2, 0]));
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${server.origin}/search.html`);
    await status(page, /passages searched in/);
    await page.setInputFiles("#folder", notes);
    await page.waitForFunction(() => document.getElementById("kept")!.textContent!.startsWith("2 files"), null, { timeout: 120_000 });
    const found = async (words: string, name: string) => {
      await page.fill("#question", words);
      await page.waitForFunction((name) => document.querySelector("#hits li:first-child em")?.textContent === name, name);
      return page.textContent("#hits li:first-child span");
    };
    expect(await found("birds of the south pole", "notes/long.txt")).toContain("penguin");
    await page.reload();
    await status(page, /passages searched in/);
    expect(await found("birds of the south pole", "notes/long.txt")).toContain("penguin");
    expect(await found("dairy", "notes/more/short.md")).toContain("Gouda");
    // A file that is as it was is not read again.
    await page.setInputFiles("#folder", notes);
    await page.waitForFunction(() => document.querySelectorAll("#documents li").length === 2);
    await page.click('[aria-label="Forget notes/long.txt"]');
    await page.waitForFunction(() => document.querySelectorAll("#documents li").length === 1);
    await page.click("#forget");
    await page.waitForFunction(() => document.getElementById("kept")!.textContent!.startsWith("None yet"));
    await page.fill("#question", "dairy");
    await status(page, /passages searched in/);
    expect(await page.locator("#hits em").count()).toBe(0);
    await context.close();
    rmSync(folder, { recursive: true });
  });

  test("Inspector shows what is in a file, and which byte is wrong", async () => {
    const { page, complaints } = await openPage(browser, `${server.origin}/inspector.html`);
    await page.setViewportSize({ width: 1180, height: 980 });
    await page.click('[data-sample="./all-MiniLM-L6-v2.int8.weights"]');
    await status(page, /read in/);
    expect(await page.textContent("#facts")).toContain("embd");
    await page.fill("#filter", "layer.3.attention.self.query.weight");
    await page.click("#tensors tr:first-child");
    await page.waitForFunction(() => document.getElementById("numbers")!.textContent!.includes("deviation"));
    await shot(page, "inspector");
    await page.click("#verify");
    await page.waitForFunction(() => document.getElementById("verdict")!.textContent!.startsWith("Whole"), null, { timeout: 60_000 });
    const folder = mkdtempSync(join(tmpdir(), "nanoembed-"));
    const broken = modelBytes();
    broken[11_000_000]! ^= 64;
    writeFileSync(join(folder, "broken.weights"), broken);
    await page.setInputFiles("#file", join(folder, "broken.weights"));
    await page.waitForFunction(() => document.getElementById("name")!.textContent === "broken.weights");
    await page.click("#verify");
    await page.waitForFunction(() => document.getElementById("verdict")!.classList.contains("bad"), null, { timeout: 60_000 });
    expect(await page.textContent("#verdict")).toMatch(/byte \d+.*checksum/);
    // The same file, made whole, is another.
    writeFileSync(join(folder, "broken.weights"), modelBytes());
    await page.setInputFiles("#file", join(folder, "broken.weights"));
    await page.waitForFunction(() => document.getElementById("verdict")!.textContent === "");
    await page.click("#verify");
    await page.waitForFunction(() => document.getElementById("verdict")!.textContent!.startsWith("Whole"), null, { timeout: 60_000 });
    rmSync(folder, { recursive: true });
    for (const name of ["gguf/blocks.gguf", "finalfusion/explicit.fifu", "uqff/small_tensors.uqff", "safetensors/mixed.safetensors"]) {
      await page.setInputFiles("#file", join(data, name));
      await page.waitForFunction((wanted) => document.getElementById("name")!.textContent === wanted, name.split("/")[1]);
      await page.click("#tensors tr:first-child");
      await page.waitForFunction(() => /deviation|known|not/.test(document.getElementById("numbers")!.textContent!));
    }
    // What was asked for last is what is shown, also of a file that is being checked.
    await page.evaluate(() => {
      const samples = document.querySelectorAll<HTMLButtonElement>("[data-sample]");
      document.getElementById("verify")!.click();
      samples[0]!.click();
      samples[1]!.click();
    });
    await page.waitForFunction(() => document.getElementById("name")!.textContent === "sample.gguf");
    await new Promise((over) => setTimeout(over, 500));
    expect(await page.textContent("#name")).toBe("sample.gguf");
    expect(await page.textContent("#verdict")).toBe("");
    await page.focus("#tensors tr:nth-child(2)");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.getElementById("numbers")!.textContent!.includes("deviation"));
    expect(await page.textContent("#tensor")).toBe(await page.textContent("#tensors tr:nth-child(2) td"));
    await page.setInputFiles("#file", join(data, "README.md"));
    await status(page, /no format known here/);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("Words finds neighbours, analogies and unknown words", async () => {
    const { page, complaints } = await openPage(browser, `${server.origin}/words.html`);
    await page.setViewportSize({ width: 1180, height: 860 });
    await status(page, /words of/);
    await page.waitForSelector("#neighbours li");
    await page.waitForSelector("#answers li");
    await shot(page, "words");
    const first = (list: string) => page.textContent(`${list} li span`);
    expect([await first("#neighbours"), await first("#answers")]).toEqual(["rivers", "princess"]);
    await page.fill("#word", "tübingenxyz");
    await page.waitForFunction(() => document.getElementById("kind")!.textContent!.startsWith("Not in the vocabulary, and none"));
    await page.click("[data-sample='./sample.fifu']");
    await status(page, /157 words of/);
    await page.fill("#word", "tübingenxyz");
    await page.waitForFunction(() => document.getElementById("kind")!.textContent!.includes("made of"));
    expect(await page.locator("#neighbours li").count()).toBe(10);
    // A file that is none leaves the one that is open.
    await page.setInputFiles("#file", join(data, "README.md"));
    await status(page, /README.md/);
    const word = await page.textContent("#neighbours li span");
    await page.focus("#neighbours li");
    await page.keyboard.press("Enter");
    expect(await page.inputValue("#word")).toBe(word);
    await page.waitForFunction(() => document.getElementById("kind")!.textContent!.startsWith("In the vocabulary"));
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("Same everywhere shows the bits that the program, C and a microcontroller compute", async () => {
    const { page, complaints } = await openPage(browser, `${server.origin}/same.html`);
    await status(page, /every bit as everywhere else/);
    const rows = page.locator("#hashes tr");
    const hashes = () => page.locator("#hashes code").allTextContents();
    for (const [at, text] of shown.entries()) {
      await page.click(`#samples button:nth-of-type(${at + 1})`);
      await page.waitForFunction((first) => document.querySelector("#hashes code")?.textContent === first, hashesOf("native")[at]);
      expect(await page.inputValue("#text")).toBe(text);
      expect(await hashes()).toEqual(["native", "native", "c", "cortex-m"].map((name) => hashesOf(name)[at]));
      expect(await rows.locator(".good").count()).toBe(3);
    }
    await shot(page, "same");
    await page.fill("#text", "A text of my own");
    await page.waitForSelector("#own:not([hidden])");
    expect((await hashes()).slice(1)).toEqual(Array(3).fill("not computed for this text"));
    expect(await rows.locator(".good, .bad").count()).toBe(0);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("what the page has of the program is what the program gives", () => {
    const vectors = native(model, shown);
    const hashes = shown.map((_, at) => createHash("sha256").update(vectors.slice(at * 384, (at + 1) * 384)).digest("hex"));
    // As ffi/test.sh cortex_m does for those of C and the microcontroller.
    if (process.env["NANOEMBED_WRITE_SAME"]) writeFileSync(join(demo, "same/native.sha256"), `${hashes.join("\n")}\n`);
    expect(hashesOf("native")).toEqual(hashes);
  });

  /** Until a page shows what it is for. */
  const filled: Record<string, (page: Page) => Promise<unknown>> = {
    index: async () => {},
    search: (page) => status(page, /passages searched in/),
    inspector: async (page) => {
      await page.click('[data-sample="./all-MiniLM-L6-v2.int8.weights"]');
      await status(page, /read in/);
      await page.click('[data-name$="layer.3.attention.self.query.weight"]');
      await page.waitForFunction(() => document.getElementById("numbers")!.textContent!.includes("deviation"));
    },
    words: (page) => page.waitForSelector("#answers li"),
    same: (page) => status(page, /every bit/),
  };

  test.each(Object.keys(filled).flatMap((name) => (["light", "dark"] as const).map((scheme) => [name, scheme] as const)))("axe finds nothing in %s, %s", async (name, colorScheme) => {
    const context = await browser.newContext({ colorScheme });
    const page = await context.newPage();
    await page.goto(`${server.origin}/${name}.html`);
    await filled[name]!(page);
    await page.evaluate(`${axe}; 0`);
    const findings = await page.evaluate(() => (globalThis as unknown as { axe: Axe }).axe.run());
    expect(findings.violations.map(({ id, nodes }) => [id, nodes[0]!.html])).toEqual([]);
    await shot(page, `${name}-${colorScheme}`);
    await context.close();
  });

  test.each(Object.keys(filled).flatMap((name) => (["light", "dark"] as const).map((scheme) => [name, scheme] as const)))("%s does not scroll sideways, %s", async (name, colorScheme) => {
    const context = await browser.newContext({ colorScheme });
    const page = await context.newPage();
    await page.goto(`${server.origin}/${name}.html`);
    await filled[name]!(page);
    for (const width of [360, 380, 768, 1280, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), `${width} pixels`).toBe(0);
      if (pictures) await page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}.png`), fullPage: true });
    }
    await context.close();
  });

  test("a list or a table is one stop for the keyboard, with arrows inside", async () => {
    const { page } = await openPage(browser, `${server.origin}/inspector.html`);
    await filled["inspector"]!(page);
    expect(await page.locator("#tensors tr").count()).toBeGreaterThan(90);
    await page.focus("#filter");
    await page.keyboard.press("Tab");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    const name = await page.textContent("#tensors tr:nth-child(2) td");
    await page.waitForFunction((name) => document.getElementById("tensor")!.textContent === name, name);
    expect(await page.getAttribute("#tensors tr:nth-child(2)", "aria-selected")).toBe("true");
    await page.keyboard.press("End");
    expect(await page.evaluate(() => document.activeElement === document.querySelector("#tensors tr:last-child"))).toBe(true);
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement!.closest("#tensors"))).toBe(null);
    await page.close();
  });

  test("works on a phone", async () => {
    const context = await browser.newContext({ viewport: { width: 390, height: 800 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true });
    const page = await context.newPage();
    for (const name of ["index", "search", "inspector", "words", "same"]) {
      await page.goto(`${server.origin}/${name}.html`);
      if (name === "search") await status(page, /passages searched in/);
      if (name === "inspector") {
        await page.click('[data-sample="./sample.gguf"]');
        await status(page, /read in/);
      }
      // A phone shows a page that is wider than its screen smaller, so that `innerWidth` grows, too.
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - 390);
      expect(wider, name).toBeLessThanOrEqual(0);
      await shot(page, `phone-${name}`);
    }
    await context.close();
  });

  test("works without a network after the first visit, and asks nobody else", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const foreign: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(server.origin) && !request.url().startsWith("data:")) foreign.push(request.url());
    });
    await page.goto(`${server.origin}/search.html`);
    await status(page, /passages searched in/);
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => true));
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
    await context.setOffline(true);
    for (const name of ["search", "words", "same", "inspector", "index"]) {
      await page.goto(`${server.origin}/${name}.html`);
      if (name === "search") await status(page, /passages searched in/);
      if (name === "words") await status(page, /words of/);
      if (name === "same") await status(page, /every bit/);
    }
    expect(foreign).toEqual([]);
    await context.close();
  });
});
