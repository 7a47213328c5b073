// Servers and runtimes that npm has, hundreds of megabytes: `npm run test:runtimes`.
import { execFileSync, spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import { chromium, type BrowserContext, type Worker } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bytes } from "../tests/files.js";
import { executablePath, launch, openPage } from "./browser.js";
import { project } from "./project.js";
import { serve } from "./server.js";

const words = bytes("finalfusion", "explicit.fifu");
const folders: string[] = [];

/** A project, which is deleted at the end. */
function projectWith(files: Record<string, string | Uint8Array>, packages: string[]): string | undefined {
  const folder = project({ "words.fifu": words, ...files }, packages);
  if (folder) folders.push(folder);
  return folder;
}
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

const WORDS = { count: 157, length: 50 };

const PROGRAM = `
import { load } from "nanoembed";
import { load as inline } from "nanoembed/inline";
const all = [await load("words.fifu"), await load(new URL("words.fifu", import.meta.url)), await inline("words.fifu")];
console.log(JSON.stringify(await Promise.all(all.map(async (words) => (await words.vector("ganz")).vector.length))));
`;

describe("programs", () => {
  let folder: string | undefined;
  beforeAll(() => void (folder = projectWith({ "program.mjs": PROGRAM }, ["deno@2.9.6", "bun@1.4.5"])));

  test.for([
    ["Deno", "@deno/linux-x64-glibc/deno", ["run", "--allow-read", "--node-modules-dir=manual"]],
    ["Bun", "@oven/bun-linux-x64/bin/bun", []],
  ] as const)("%s", ([, program, args], { skip }) => {
    if (!folder) return skip();
    const said = execFileSync(join(folder, "node_modules", program), [...args, "program.mjs"], { cwd: folder }).toString();
    expect(JSON.parse(said)).toEqual([50, 50, 50]);
  });
});

const WORKER = `
import { init, load } from "nanoembed";
import words from "nanoembed/nanoembed-slim.wasm";
export default { async fetch(request) {
  await init({ words });
  const model = await load(await request.arrayBuffer());
  return Response.json({ count: model.count, length: (await model.vector("ganz")).vector.length });
} };
`;

test("workerd", async ({ skip }) => {
  const folder = projectWith({ "worker.js": WORKER }, ["miniflare@4.20260730.0"]);
  if (!folder) return skip();
  // As wrangler does it: a module that is imported stays a module.
  await esbuild.build({ absWorkingDir: folder, entryPoints: ["worker.js"], bundle: true, format: "esm", outdir: "out", loader: { ".wasm": "copy" }, conditions: ["worker"] });
  const { Miniflare } = await import(pathToFileURL(createRequire(`${folder}/`).resolve("miniflare")).href);
  const flare = new Miniflare({
    modules: true, modulesRoot: join(folder, "out"), scriptPath: join(folder, "out/worker.js"), compatibilityDate: "2026-01-01",
    modulesRules: [{ type: "CompiledWasm", include: ["**/*.wasm"] }, { type: "ESModule", include: ["**/*.js"] }],
  });
  try {
    const answer = await flare.dispatchFetch("http://localhost/", { method: "POST", body: words });
    expect(await answer.json()).toEqual(WORDS);
  } finally {
    await flare.dispose();
  }
});

const ROUTE = `
import { load } from "nanoembed";
export const dynamic = "force-dynamic";
export async function GET() {
  const words = await load("words.fifu");
  return Response.json({ count: words.count, length: (await words.vector("ganz")).vector.length });
}
`;

describe("Next", () => {
  let folder: string | undefined;
  beforeAll(() => void (folder = projectWith({
    "app/api/words/route.js": ROUTE,
    "app/layout.js": "export default function Layout({ children }) { return <html><body>{children}</body></html>; }",
    "app/page.js": "export default function Page() { return <p>page</p>; }",
  }, ["next@16.4.6", "react@19", "react-dom@19"])));

  test.for(["--webpack", "--turbopack"])("a route handler, next build %s", async (bundler, { skip }) => {
    if (!folder) return skip();
    const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" as const };
    const next = join(folder, "node_modules/next/dist/bin/next");
    execFileSync(process.execPath, [next, "build", bundler], { cwd: folder, env, stdio: "pipe" });
    const server = spawn(process.execPath, [next, "start", "-H", "127.0.0.1", "-p", "0"], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
    try {
      const address = await addressOf(server);
      const answer = await fetch(`${address}/api/words`);
      expect(await answer.json()).toEqual(WORDS);
    } finally {
      server.kill();
      await once(server, "exit");
    }
  });
});

/** What a server says on stdout until it says where it listens. */
async function addressOf(server: ChildProcessByStdio<null, Readable, null>): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    server.stdout.on("data", (said) => {
      const [found] = /http:\/\/[\w.]+:\d+/.exec(String(said)) ?? [];
      if (found) resolve(found.replace("0.0.0.0", "127.0.0.1"));
    });
    server.once("exit", () => reject(new Error("the server has ended")));
  });
}

/** What a page computes and leaves in `result`. */
const PAGE = `
import { load } from "nanoembed";
import { createWorker } from "nanoembed/worker";
export async function words() {
  const pool = createWorker({ workers: 1 });
  const [here, there] = [await load("/words.fifu"), await pool.load("/words.fifu")];
  return { count: there.count, length: (await here.vector("ganz")).vector.length };
}
`;

describe("SvelteKit", () => {
  let folder: string | undefined;
  let server: ChildProcessByStdio<null, Readable, null> | undefined;
  let address = "";

  beforeAll(async () => {
    folder = projectWith({
      "svelte.config.js": 'import adapter from "@sveltejs/adapter-node"; export default { kit: { adapter: adapter() } };',
      "vite.config.js": 'import { sveltekit } from "@sveltejs/kit/vite"; export default { plugins: [sveltekit()] };',
      "src/app.html": "<!doctype html><html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>",
      "src/routes/api/+server.js": `
        import { load } from "nanoembed";
        export async function GET() {
          const words = await load("words.fifu");
          return Response.json({ count: words.count, length: (await words.vector("ganz")).vector.length });
        }`,
      "src/routes/+page.svelte": `
        <script>
          import { onMount } from "svelte";
          import { words } from "./words.js";
          onMount(async () => (window.result = await words()));
        </script>`,
      "src/routes/words.js": PAGE,
      "static/words.fifu": words,
    }, ["@sveltejs/kit@2", "@sveltejs/adapter-node@5", "@sveltejs/vite-plugin-svelte@6", "svelte@5", "vite@7"]);
    if (!folder) return;
    execFileSync(process.execPath, [join(folder, "node_modules/vite/bin/vite.js"), "build"], { cwd: folder, stdio: "pipe" });
    server = spawn(process.execPath, ["build"], { cwd: folder, env: { ...process.env, HOST: "127.0.0.1", PORT: "0" }, stdio: ["ignore", "pipe", "inherit"] });
    address = await addressOf(server);
  });
  afterAll(async () => {
    server?.kill();
    if (server?.exitCode === null) await once(server, "exit");
  });

  test("an endpoint", async ({ skip }) => {
    if (!folder) return skip();
    expect(await (await fetch(`${address}/api`)).json()).toEqual(WORDS);
  });

  test.skipIf(!executablePath)("a page", async ({ skip }) => {
    if (!folder) return skip();
    expect(await resultAt(`${address}/`)).toEqual(WORDS);
  });
});

/** What a page leaves in `result`. */
async function resultAt(address: string): Promise<unknown> {
  const browser = await launch();
  const { page, complaints } = await openPage(browser, address);
  try {
    await page.waitForFunction(() => "result" in globalThis, null, { timeout: 60_000 });
    return await page.evaluate("window.result");
  } catch (error) {
    throw new Error(complaints.join("\n") || String(error));
  } finally {
    await browser.close();
  }
}

test.skipIf(!executablePath)("Parcel", async ({ skip }) => {
  const folder = projectWith({
    "index.html": '<!doctype html><script type="module" src="./app.js"></script>',
    "app.js": `import { words } from "./words.js"; words().then((found) => { window.result = found; });`,
    "words.js": PAGE,
  }, ["parcel@2.16.4"]);
  if (!folder) return skip();
  // Parcel looks for what packages export when it is asked to.
  const file = join(folder, "package.json");
  const settings = { ...JSON.parse(readFileSync(file, "utf8")), "@parcel/resolver-default": { packageExports: true } };
  writeFileSync(file, JSON.stringify(settings));
  execFileSync(process.execPath, [join(folder, "node_modules/parcel/lib/bin.js"), "build", "index.html", "--no-cache"], { cwd: folder, stdio: "pipe" });
  // Its pages begin with an import map of their own, which the policy of other tests would not allow.
  const server = await serve({ "/words.fifu": join(folder, "words.fifu"), "/": join(folder, "dist") }, {}, { "content-security-policy": "" });
  try {
    expect(await resultAt(`${server.origin}/index.html`)).toEqual(WORDS);
  } finally {
    await server.close();
  }
});

describe.skipIf(!executablePath)("an extension, Manifest V3", () => {
  let context: BrowserContext;
  let worker: Worker;

  beforeAll(async () => {
    const folder = projectWith({
      "manifest.json": JSON.stringify({
        manifest_version: 3, name: "words", version: "1", permissions: ["offscreen"],
        background: { service_worker: "worker.js", type: "module" },
        content_security_policy: { extension_pages: "script-src 'self' 'wasm-unsafe-eval'" },
      }),
      "worker.js": `
        import { load } from "./node_modules/nanoembed/dist/inline.js";
        globalThis.inWorker = async () => {
          const words = await load(chrome.runtime.getURL("words.fifu"));
          return { count: words.count, length: (await words.vector("ganz")).vector.length };
        };
        globalThis.inPage = async () => {
          await chrome.offscreen.createDocument({ url: "page.html", reasons: ["WORKERS"], justification: "a model" });
          return chrome.runtime.sendMessage("words");
        };`,
      "page.html": '<!doctype html><script type="module" src="page.js"></script>',
      "page.js": `${PAGE.replace(/"nanoembed(\/worker)?"/g, (_, entry) => `"./node_modules/nanoembed/dist${entry ?? "/index"}.js"`)}
        chrome.runtime.onMessage.addListener((message, sender, answer) => {
          words().catch(String).then(answer);
          return true;
        });`,
    }, [])!;
    context = await chromium.launchPersistentContext("", {
      executablePath: executablePath!, ignoreDefaultArgs: ["--disable-extensions"],
      args: ["--no-sandbox", "--disable-gpu", `--disable-extensions-except=${folder}`, `--load-extension=${folder}`],
    });
    worker = context.serviceWorkers()[0] ?? (await context.waitForEvent("serviceworker"));
  });
  afterAll(() => context?.close());

  test("its service worker", async () => expect(await worker.evaluate("inWorker()")).toEqual(WORDS));
  test("its offscreen page, and a worker of that", async () => expect(await worker.evaluate("inPage()")).toEqual(WORDS));
});
