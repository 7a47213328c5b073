// Programs that were compiled for wasm32-wasip1, in Chromium.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(dirname(fileURLToPath(import.meta.url)));

/** Where the browser lies, if there is one. */
export const chromium = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"].find((place) => place && existsSync(place));

/** What `use` makes of an isolated page, of an origin on which `answer` gives type and bytes for an address, or nothing. */
export async function inPage(answer, use) {
  const server = createServer(({ url }, response) => {
    const [type, bytes] = url === "/" ? ["text/html", "<!doctype html>"] : answer(url) ?? [];
    // An isolated page has a clock of microseconds, not of tenths of milliseconds.
    response.writeHead(type ? 200 : 404, {
      "content-type": type ?? "text/plain", "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp",
    }).end(bytes);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { chromium: driver } = await import("playwright-core");
  const browser = await driver.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    return await use(page);
  } finally {
    await browser.close();
    server.close();
  }
}

/** Runs the program in the file, with these arguments: its exit code and all that it wrote. */
export function run(program, args) {
  const files = {
    "/wasi.js": ["text/javascript", readFileSync(join(here, "tests/wasi-page.js"))],
    "/program.wasm": ["application/wasm", readFileSync(program)],
  };
  return inPage((url) => files[url], (page) => page.evaluate(async (args) => {
    const { run } = await import("/wasi.js");
    return run(await (await fetch("/program.wasm")).arrayBuffer(), args);
  }, ["program", ...args]));
}
