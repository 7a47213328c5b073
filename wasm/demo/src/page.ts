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

/** Work of which only the latest counts: what was begun before is told to stop, and its errors are nobody's any more. */
export function latest(fail: (error: Error) => void) {
  let running: AbortController | undefined;
  return async (work: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    running?.abort();
    const { signal } = (running = new AbortController());
    try {
      await work(signal);
    } catch (error) {
      if (!signal.aborted) fail(error as Error);
    }
  };
}

/** Lets files be dropped on the page. */
export function takeDrops(take: (dropped: DataTransfer) => void): void {
  const drop = document.getElementById("drop") ?? document.body;
  // Text that is dragged goes where it always goes.
  const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    drop.classList.add("over");
  });
  addEventListener("dragleave", () => drop.classList.remove("over"));
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    drop.classList.remove("over");
    take(event.dataTransfer!);
  });
}

/** Lets a file be dropped on the page, chosen, or given by an address. */
export function takeFiles(open: (source: File | string, name: string) => void): void {
  takeDrops(({ files: [file] }) => file && open(file, file.name));
  const chooser = document.getElementById("file") as HTMLInputElement | null;
  chooser?.addEventListener("change", () => {
    const file = chooser.files?.[0];
    // The same file may be chosen again, when it has changed.
    chooser.value = "";
    if (file) open(file, file.name);
  });
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
