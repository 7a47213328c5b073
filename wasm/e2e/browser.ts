// Debian's Chromium, driven by Playwright, and what runs in it.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { describe } from "vitest";
import { skipped } from "../scripts/skipped.mjs";

/** The package as it was built. */
export const dist = fileURLToPath(new URL("../dist", import.meta.url));

const places = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Where Chromium is. `undefined` and a visible line if there is none. */
export function findChromium(): string | undefined {
  const found = places.find((place) => place && existsSync(place));
  if (!found) skipped("end-to-end tests", "no Chromium (apt-get install chromium, or set CHROMIUM)");
  return found;
}

export const executablePath = findChromium();

/** Tests that are skipped where there is no Chromium. */
export const inBrowser = describe.skipIf(!executablePath);

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: executablePath!, args: ["--no-sandbox", "--disable-gpu"] });
}

/** A new page at `address`; whatever it complains of fails the test that asks for `complaints`. */
export async function openPage(browser: Browser, address: string): Promise<{ page: Page; complaints: string[] }> {
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  await page.goto(address);
  return { page, complaints };
}
