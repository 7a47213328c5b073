// What the pages have in common.
export const element = <T extends HTMLElement = HTMLElement>(id: string): T => document.getElementById(id) as T;

const status = document.getElementById("status");

/** Says something to the reader. */
export function say(text: string, isBad = false): void {
  if (!status) return;
  status.textContent = text;
  status.classList.toggle("bad", isBad);
}

export function bytes(count: number): string {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let at = 0;
  while (count >= 1000 && at < units.length - 1) {
    count /= 1000;
    at += 1;
  }
  return `${at === 0 || count >= 100 ? Math.round(count) : count.toFixed(1)} ${units[at]}`;
}

export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** A canvas as sharp as the screen, with its size in CSS pixels. */
export function sharp(canvas: HTMLCanvasElement): { context: CanvasRenderingContext2D; width: number; height: number } {
  const { width, height } = canvas.getBoundingClientRect();
  canvas.width = Math.max(1, Math.round(width * devicePixelRatio));
  canvas.height = Math.max(1, Math.round(height * devicePixelRatio));
  const context = canvas.getContext("2d")!;
  context.scale(devicePixelRatio, devicePixelRatio);
  return { context, width, height };
}

/** Lets files be dropped on the page, chosen, or given by an address. */
export function takeFiles(open: (source: File | string, name: string) => void): void {
  const drop = document.getElementById("drop") ?? document.body;
  addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  addEventListener("dragleave", () => drop.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const file = event.dataTransfer?.files[0];
    if (file) open(file, file.name);
  });
  const chooser = document.getElementById("file") as HTMLInputElement | null;
  chooser?.addEventListener("change", () => chooser.files?.[0] && open(chooser.files[0], chooser.files[0].name));
  document.getElementById("address")?.addEventListener("submit", (event) => {
    event.preventDefault();
    const { value } = element<HTMLInputElement>("url");
    if (value) open(value, value.split("/").at(-1) || value);
  });
}

for (const link of document.querySelectorAll<HTMLAnchorElement>("nav a")) {
  if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
}
// The development server has modules of its own.
if ("serviceWorker" in navigator && !import.meta.hot) {
  void navigator.serviceWorker.register("./offline.js").catch(() => {});
}
