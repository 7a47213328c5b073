// Servers and runtimes that npm has, hundreds of megabytes: `npm run test:runtimes`. Each has a project of its own; they are installed and
// built side by side.
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import { chromium, type BrowserContext, type Worker } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { load, similarity } from "../dist/index.js";
import { bytes, modelBytes } from "../tests/files.js";
import { executablePath, launch, openPage } from "./browser.js";
import { project, run, unpackModel } from "./project.js";
import { serve } from "./server.js";

const words = bytes("finalfusion", "explicit.fifu");
const folders: string[] = [];

/** A project, which is deleted at the end. */
async function projectWith(files: Record<string, string | Uint8Array>, packages: string[]): Promise<string | undefined> {
  const folder = await project({ "words.fifu": words, ...files }, packages);
  if (folder) folders.push(folder);
  return folder;
}
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

const WORDS = { count: 157, length: 50 };

const TEXT = "How do I reset my password?";

/** The vector of the text, in this Node. */
async function vector(): Promise<Float32Array> {
  using model = await load(modelBytes(), { kind: "sentences" });
  return (await model.embed(TEXT)).data;
}

const PROGRAM = `
import { load } from "nanoembed";
import { load as inline } from "nanoembed/inline";
const all = [await load("words.fifu"), await load(new URL("words.fifu", import.meta.url)), await inline("words.fifu")];
console.log(JSON.stringify(await Promise.all(all.map(async (words) => (await words.vector("ganz")).vector.length))));
`;

describe.concurrent("programs", () => {
  let folder: string | undefined;
  beforeAll(async () => void (folder = await projectWith({ "program.mjs": PROGRAM }, ["deno@2.9.6", "bun@1.4.5"])));

  test.for([
    ["Deno", "@deno/linux-x64-glibc/deno", ["run", "--allow-read", "--node-modules-dir=manual"]],
    ["Bun", "@oven/bun-linux-x64/bin/bun", []],
  ] as const)("%s", async ([, program, args], { skip }) => {
    if (!folder) return skip();
    const { stdout } = await run(join(folder, "node_modules", program), [...args, "program.mjs"], { cwd: folder });
    expect(JSON.parse(stdout)).toEqual([50, 50, 50]);
  });
});

/** Addresses name what is done; what fails is said. */
const WORKER = `
import { init, load } from "nanoembed";
import minilm from "nanoembed-minilm";
import module_or_path from "nanoembed/nanoembed.wasm";
import words from "nanoembed/nanoembed-slim.wasm";
const embedded = async (source) => [...(await (await load(source, { kind: "sentences" })).embed("${TEXT}")).data];
const ways = {
  "/forgotten": async (_, env) => embedded(await env.ASSETS.fetch("https://assets/model.weights")),
  "/words": async (request) => {
    await init({ words });
    const model = await load(await request.arrayBuffer());
    return { count: model.count, length: (await model.vector("ganz")).vector.length };
  },
  "/minilm": async () => {
    await init({ module_or_path });
    return embedded(minilm);
  },
  "/assets": async (_, env) => embedded(await env.ASSETS.fetch("https://assets/model.weights")),
};
export default { fetch: async (request, env) =>
  Response.json(await ways[new URL(request.url).pathname](request, env).catch(({ message }) => message)) };
`;

test.concurrent("workerd", async ({ skip }) => {
  const folder = await projectWith({ "worker.js": WORKER }, ["miniflare@4.20260730.0"]);
  if (!folder) return skip();
  unpackModel(folder);
  // As wrangler does it: a module that is imported stays a module.
  await esbuild.build({ absWorkingDir: folder, entryPoints: ["worker.js"], bundle: true, format: "esm", outdir: "out", loader: { ".wasm": "copy" }, conditions: ["worker"] });
  const { Miniflare, Response } = await import(pathToFileURL(createRequire(`${folder}/`).resolve("miniflare")).href);
  const flare = new Miniflare({
    modules: true, modulesRoot: join(folder, "out"), scriptPath: join(folder, "out/worker.js"), compatibilityDate: "2026-01-01",
    modulesRules: [{ type: "CompiledWasm", include: ["**/*.wasm"] }, { type: "ESModule", include: ["**/*.js"] }],
    serviceBindings: { ASSETS: () => new Response(modelBytes()) },
  });
  // A body that is not read may end the connection while it is sent.
  const asked = async (path: string) =>
    (await flare.dispatchFetch(`http://localhost${path}`, path === "/words" ? { method: "POST", body: words } : {})).json();
  try {
    // What is said is what is then done.
    expect(await asked("/forgotten")).toMatch(/import module_or_path from "nanoembed\/nanoembed.wasm"; await init\(\{ module_or_path \}\)/);
    expect(await asked("/minilm")).toMatch(/env\.ASSETS\.fetch/);
    expect(similarity((await asked("/assets")) as number[], await vector())).toBeGreaterThan(0.9999);
    expect(await asked("/words")).toEqual(WORDS);
  } finally {
    await flare.dispose();
  }
});

const ROUTES = {
  words: `
import { load } from "nanoembed";
export const dynamic = "force-dynamic";
export async function GET() {
  const words = await load("words.fifu");
  return Response.json({ count: words.count, length: (await words.vector("ganz")).vector.length });
}
`,
  minilm: `
import { load } from "nanoembed";
import minilm from "nanoembed-minilm";
export const dynamic = "force-dynamic";
export async function GET() {
  const model = await load(minilm, { kind: "sentences" });
  const { data } = await model.embed("${TEXT}");
  return Response.json([...data]);
}
`,
};

/** A page whose code runs on the server, too. */
const CLIENT = `"use client";
import { useEffect } from "react";
import { load } from "nanoembed";
import minilm from "nanoembed-minilm";
export default function Page() {
  useEffect(() => void (async () => {
    const model = await load(minilm, { kind: "sentences" });
    const { data } = await model.embed("${TEXT}");
    window.result = [...data];
  })(), []);
  return <p>page</p>;
}
`;

describe.concurrent("Next", () => {
  let folder: string | undefined;
  beforeAll(async () => {
    folder = await projectWith({
      "app/api/words/route.js": ROUTES.words,
      "app/api/minilm/route.js": ROUTES.minilm,
      "app/layout.js": "export default function Layout({ children }) { return <html><body>{children}</body></html>; }",
      "app/page.js": CLIENT,
      // Each bundler has a folder of its own, so that both build at once.
      "next.config.js": "export default { distDir: process.env.OUT };",
    }, ["next@16.4.6", "react@19", "react-dom@19"]);
    if (folder) unpackModel(folder);
  });

  test.for(["--webpack", "--turbopack"])("route handlers and a page, next build %s", async (bundler, { skip }) => {
    if (!folder) return skip();
    const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" as const, OUT: bundler.slice(2) };
    const next = join(folder, "node_modules/next/dist/bin/next");
    await run(process.execPath, [next, "build", bundler], { cwd: folder, env });
    const server = spawn(process.execPath, [next, "start", "-H", "127.0.0.1", "-p", "0"], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
    try {
      const address = await addressOf(server);
      expect(await (await fetch(`${address}/api/words`)).json()).toEqual(WORDS);
      const expected = await vector();
      expect(similarity(await (await fetch(`${address}/api/minilm`)).json(), expected)).toBeGreaterThan(0.9999);
      if (executablePath) expect(similarity((await resultAt(address)) as number[], expected)).toBeGreaterThan(0.9999);
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

describe.concurrent("SvelteKit", () => {
  let folder: string | undefined;
  let server: ChildProcessByStdio<null, Readable, null> | undefined;
  let address = "";

  beforeAll(async () => {
    folder = await projectWith({
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
    await run(process.execPath, [join(folder, "node_modules/vite/bin/vite.js"), "build"], { cwd: folder });
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

test.skipIf(!executablePath)("Parcel", { concurrent: true }, async ({ skip }) => {
  const folder = await projectWith({
    "index.html": '<!doctype html><script type="module" src="./app.js"></script>',
    "app.js": `import { words } from "./words.js"; words().then((found) => { window.result = found; });`,
    "words.js": PAGE,
  }, ["parcel@2.16.4"]);
  if (!folder) return skip();
  // Parcel looks for what packages export when it is asked to.
  const file = join(folder, "package.json");
  const settings = { ...JSON.parse(readFileSync(file, "utf8")), "@parcel/resolver-default": { packageExports: true } };
  writeFileSync(file, JSON.stringify(settings));
  await run(process.execPath, [join(folder, "node_modules/parcel/lib/bin.js"), "build", "index.html", "--no-cache"], { cwd: folder });
  // Its pages begin with an import map of their own, which the policy of other tests would not allow.
  const server = await serve({ "/words.fifu": join(folder, "words.fifu"), "/": join(folder, "dist") }, {}, { "content-security-policy": "" });
  try {
    expect(await resultAt(`${server.origin}/index.html`)).toEqual(WORDS);
  } finally {
    await server.close();
  }
});

describe.skipIf(!executablePath)("an extension, Manifest V3", { concurrent: true }, () => {
  let context: BrowserContext;
  let worker: Worker;

  beforeAll(async () => {
    const folder = await projectWith({
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
    }, []);
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
