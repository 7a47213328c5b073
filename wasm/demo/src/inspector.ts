import { inspect, verify, type Inspection, type TensorInfo } from "nanoembed/inspect";
import { choices } from "./choices.js";
import { bytes, colour, element, latest, say, sharp, takeFiles } from "./page.js";

const COLOURS = ["#0a7f5a", "#3b7dd8", "#c77d18", "#8a5cd1", "#c2416b", "#4f9da6", "#8b8f2b", "#a15c3e", "#5b6ee1", "#d9a521", "#2f9e44", "#e0719b", "#6b7a8f", "#b0492f"];

let file: Inspection;
let source: File | string;
let wrong: number | undefined;

/** A colour for every type in the file. */
const shades = new Map<string, string>();
const shade = (dtype: string) => {
  if (!shades.has(dtype)) shades.set(dtype, COLOURS[shades.size % COLOURS.length]!);
  return shades.get(dtype)!;
};

const opening = latest(({ message, offset }: Error & { offset?: number }) =>
  say(`${asked}: ${message}${offset === undefined || message.includes("byte") ? "" : ` (byte ${offset})`}`, true));
const showing = latest(({ message }) => { element("numbers").textContent = message; });
const checking = latest(({ message }) => judge(message, false));
/** What the file that was asked for last is called. */
let asked = "";

const open = (from: File | string, name: string) => opening(async (signal) => {
  asked = name;
  say(`Reading the index of ${name}…`);
  element("report").hidden = true;
  const start = performance.now();
  const found = await inspect(from, { signal });
  signal.throwIfAborted();
  // What is shown of the file before, or checked, is of no interest any more.
  void showing(async () => {});
  void checking(async () => {});
  file = found;
  element<HTMLInputElement>("filter").value = "";
  [source, wrong] = [from, undefined];
  shades.clear();
  say(`${bytes(file.bytesRead)} read in ${(performance.now() - start).toFixed(0)} ms`);
  element("report").hidden = false;
  element("chosen").hidden = true;
  element("name").textContent = name;
  judge("");
  facts();
  metadata();
  list();
  layout();
});

function facts(): void {
  const elements = (tensor: TensorInfo) => tensor.shape.reduce((product, dim) => product * dim, 1);
  const parameters = file.tensors.reduce((sum, tensor) => sum + elements(tensor), 0);
  const rows: [string, string][] = [
    ["format", `${file.format} ${file.version.join(".")}${file.variant && file.variant !== file.format ? `, ${file.variant}` : ""}`],
    ["size", file.fileBytes === undefined ? "unknown" : `${bytes(file.fileBytes)} (${file.fileBytes.toLocaleString()} bytes)`],
    ["tensors", `${file.tensors.length} with ${parameters.toLocaleString()} elements`],
  ];
  if (file.tokens > 0) {
    const special = Object.entries(file.special).map(([role, id]) => `${role} ${id}`);
    rows.push(["vocabulary", `${file.tokens.toLocaleString()} entries${special.length ? `; ${special.join(", ")}` : ""}`]);
  }
  if (file.vocabulary) rows.push(["subwords", `${file.vocabulary.kind}, ${file.vocabulary.minN} to ${file.vocabulary.maxN} letters`]);
  element("facts").replaceChildren(
    ...rows.flatMap(([name, value]) => {
      const [term, definition] = [document.createElement("dt"), document.createElement("dd")];
      [term.textContent, definition.textContent] = [name, value];
      return [term, definition];
    }),
  );
}

function row(cells: string[], numbers: number[] = []): HTMLTableRowElement {
  const line = document.createElement("tr");
  cells.forEach((text, at) => {
    const cell = line.insertCell();
    cell.textContent = text;
    if (numbers.includes(at)) cell.className = "number";
  });
  return line;
}

function metadata(): void {
  const shown = Object.entries(file.metadata).map(([key, value]) => row([key, typeof value === "string" ? value : JSON.stringify(value)]));
  if (file.document) shown.push(row(["document", file.document]));
  if (shown.length === 0) shown.push(row(["none", ""]));
  element("metadata").replaceChildren(...shown);
}

/** Lines of the table of tensors. */
const MOST_LINES = 2000;

function list(): void {
  const wanted = element<HTMLInputElement>("filter").value.toLowerCase();
  const found = file.tensors.filter(({ name, dtype }) => `${name} ${dtype}`.toLowerCase().includes(wanted));
  const rest = found.length > MOST_LINES ? `, the first ${MOST_LINES} are shown` : "";
  element("count").textContent = wanted || rest ? `${found.length} of ${file.tensors.length}${rest}` : "";
  const shown = found.slice(0, MOST_LINES);
  const lines = shown.map((tensor) => {
    const line = row([tensor.name, tensor.dtype, tensor.shape.join(" × "), tensor.bytes.toLocaleString(), tensor.offset.toLocaleString()], [3, 4]);
    line.dataset["name"] = tensor.name;
    return line;
  });
  choices(lines, "row", (at) => void show(shown[at]!));
  element("tensors").replaceChildren(...lines);
}

/** The file from its first byte to its last, in four lines. */
const LINES = 4;
function layout(): void {
  const canvas = element<HTMLCanvasElement>("layout");
  const { context, width, height } = sharp(canvas);
  const size = file.fileBytes ?? file.tensors.reduce((end, { offset, bytes: length }) => Math.max(end, offset + length), 1);
  const line = height / LINES;
  const stretch = (from: number, to: number, fill: string) => {
    context.fillStyle = fill;
    for (let at = 0; at < LINES; at += 1) {
      const [start, end] = [(from / size) * LINES - at, (to / size) * LINES - at].map((x) => Math.min(1, Math.max(0, x)) * width);
      if (end! > start!) context.fillRect(start!, at * line + 1, Math.max(end! - start! - 0.4, 0.6), line - 3);
    }
  };
  stretch(0, size, colour("line"));
  for (const tensor of file.tensors) stretch(tensor.offset, tensor.offset + tensor.bytes, shade(tensor.dtype));
  if (wrong !== undefined) {
    const at = (wrong / size) * LINES;
    context.fillStyle = colour("bad");
    context.fillRect((at % 1) * width - 2, Math.min(LINES - 1, Math.floor(at)) * line - 2, 5, line + 2);
  }
  const legend = [["header, vocabulary, padding", colour("line")], ...shades].map(([name, fill]) => {
    const item = document.createElement("span");
    const box = document.createElement("i");
    box.style.background = fill!;
    item.append(box, name!);
    return item;
  });
  element("legend").replaceChildren(...legend);
  canvas.onclick = ({ offsetX, offsetY }) => {
    const place = ((Math.floor(offsetY / line) + offsetX / width) / LINES) * size;
    const tensor = file.tensors.find(({ offset, bytes: length }) => offset <= place && place < offset + length);
    if (tensor) void show(tensor);
  };
}

/** Tensors with more elements are not read as a whole; of those, rows with so many elements together are. */
const MOST_AT_ONCE = 1 << 20;
const MOST_ELEMENTS = 1 << 16;

/** Rows and columns of the heat map: tensors that have more are shown by some of them. */
const MOST_POINTS = 512;

const show = (tensor: TensorInfo) => showing(async (signal) => {
  const { values: valuesOf } = file;
  for (const line of element("tensors").children) line.classList.toggle("on", (line as HTMLElement).dataset["name"] === tensor.name);
  element("chosen").hidden = false;
  element("tensor").textContent = tensor.name;
  const note = element("numbers");
  note.textContent = "Reading…";
  const elements = tensor.shape.reduce((product, dim) => product * dim, 1);
  if (elements === 0) {
    note.textContent = "It has no elements.";
    return;
  }
  const rows = tensor.shape.length < 2 ? 1 : tensor.shape[0]!;
  const cols = elements / rows;
  const shown = Math.max(1, Math.min(rows, 128, Math.floor(MOST_ELEMENTS / cols)));
  const width = Math.min(cols, MOST_ELEMENTS);
  if (elements <= MOST_AT_ONCE) {
    const values = await valuesOf(tensor.name, { signal });
    signal.throwIfAborted();
    pictures(values, rows, cols);
    return;
  }
  // Some rows from all over the tensor.
  const values = new Float32Array(shown * width);
  const read = async (at: number) =>
    values.set(await valuesOf(tensor.name, { first: Math.floor((at * rows) / shown) * cols, count: width, signal }), at * width);
  for (let at = 0; at < shown; at += 8) await Promise.all(Array.from({ length: Math.min(8, shown - at) }, (_, i) => read(at + i)));
  signal.throwIfAborted();
  pictures(values, shown, width);
  note.textContent += ` · ${shown} of ${rows} rows`;
});

function pictures(all: Float32Array, rows: number, cols: number): void {
  const values = all.filter(Number.isFinite);
  const others = all.length - values.length;
  let [least, most, sum, squares] = [Infinity, -Infinity, 0, 0];
  for (const value of values) {
    least = Math.min(least, value);
    most = Math.max(most, value);
    sum += value;
    squares += value * value;
  }
  if (values.length === 0) [least, most] = [0, 0];
  const count = Math.max(1, values.length);
  const mean = sum / count;
  const deviation = Math.sqrt(Math.max(0, squares / count - mean * mean));
  const short = (value: number) => value.toPrecision(4);
  element("numbers").textContent = `${short(least)} to ${short(most)}, mean ${short(mean)}, standard deviation ${short(deviation)}`
    + (others > 0 ? ` · ${others} of ${all.length} are not finite` : "");
  const bins = new Uint32Array(80);
  const range = most - least || 1;
  for (const value of values) bins[Math.min(79, Math.floor(((value - least) / range) * 80))]! += 1;
  const { context, width, height } = sharp(element<HTMLCanvasElement>("histogram"));
  const highest = Math.log1p(Math.max(1, ...bins));
  context.fillStyle = colour("accent");
  bins.forEach((count, at) => {
    const bar = (Math.log1p(count) / highest) * (height - 22);
    context.fillRect((at * width) / 80, height - 18 - bar, width / 80 - 1, bar);
  });
  context.fillStyle = colour("faint");
  context.font = "12px system-ui";
  context.fillText(short(least), 0, height - 3);
  context.textAlign = "right";
  context.fillText(short(most), width, height - 3);
  const heat = element<HTMLCanvasElement>("heat");
  [heat.width, heat.height] = [Math.min(cols, MOST_POINTS), Math.min(rows, MOST_POINTS)];
  const image = new ImageData(heat.width, heat.height);
  const [across, down] = [cols / heat.width, rows / heat.height];
  const scale = 2.5 * deviation || 1;
  for (let y = 0; y < heat.height; y += 1) {
    for (let x = 0; x < heat.width; x += 1) {
      const value = all[Math.floor(y * down) * cols + Math.floor(x * across)]!;
      const strength = Math.max(-1, Math.min(1, (value - mean) / scale)) || 0;
      const fade = Math.round(255 - 190 * Math.abs(strength));
      image.data.set(strength > 0 ? [fade, 255 - (255 - fade) * 0.45, fade + (255 - fade) * 0.3, 255] : [255 - (255 - fade) * 0.2, fade, fade, 255], (y * heat.width + x) * 4);
    }
  }
  heat.getContext("2d")!.putImageData(image, 0, 0);
}

/** Says what became of a check; nothing is good or bad while it runs. */
function judge(text: string, isGood?: boolean): void {
  const verdict = element("verdict");
  verdict.className = isGood === undefined ? "verdict" : `verdict ${isGood ? "good" : "bad"}`;
  verdict.textContent = text;
}

element("verify").addEventListener("click", () => void checking(async (signal) => {
  judge("Reading…");
  const answer = await verify(source, {
    signal,
    onProgress: ({ loaded, total }) => judge(`${bytes(loaded)}${total ? ` of ${bytes(total)}` : ""}…`),
  });
  signal.throwIfAborted();
  judge(answer.ok ? `Whole: all ${answer.bytes.toLocaleString()} bytes are as they should be` : answer.error.message, answer.ok);
  wrong = answer.ok ? undefined : answer.error.offset;
  layout();
}));
element("filter").addEventListener("input", list);
addEventListener("resize", () => !element("report").hidden && layout());
for (const button of document.querySelectorAll<HTMLButtonElement>("[data-sample]")) {
  button.addEventListener("click", () => void open(button.dataset["sample"]!, button.dataset["sample"]!.slice(2)));
}
takeFiles((from, name) => void open(from, name));
