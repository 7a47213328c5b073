// Servers and runtimes that npm has, hundreds of megabytes: `npm run test:runtimes`.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bytes } from "../tests/files.js";
import { project } from "./project.js";

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
    const server = spawn(process.execPath, [next, "start", "-H", "127.0.0.1", "-p", "0"], { cwd: folder, env });
    try {
      const address = await new Promise<string>((resolve, reject) => {
        server.stdout.on("data", (said) => {
          const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(String(said)) ?? [];
          if (found) resolve(found);
        });
        server.once("exit", () => reject(new Error("next start has ended")));
      });
      const answer = await fetch(`${address}/api/words`);
      expect(await answer.json()).toEqual(WORDS);
    } finally {
      server.kill();
      await once(server, "exit");
    }
  });
});
