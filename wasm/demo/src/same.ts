import type { SentenceModel } from "nanoembed";
import { createWorker } from "nanoembed/worker";
import c from "../same/c.sha256?raw";
import cortexM from "../same/cortex-m.sha256?raw";
import native from "../same/native.sha256?raw";
import samples from "../same/texts.txt?raw";
import { bytes, element, latest, say } from "./page.js";
import { stripes } from "./stripes.js";

const lines = (file: string) => file.trim().split("\n");
const texts = lines(samples);

/** Where vectors of the samples were computed, and their hashes. */
const elsewhere = [
  { name: "The program", note: "nanoembed on x86-64, AVX2", hashes: lines(native) },
  { name: "C", note: "libnanoembed.a on x86-64, weights read as they are needed", hashes: lines(c) },
  { name: "A microcontroller", note: "Cortex-M4F with 256 KB of RAM, in QEMU", hashes: lines(cortexM) },
];

const input = element<HTMLInputElement>("text");
const progress = element<HTMLProgressElement>("progress");
let model: SentenceModel | undefined;

const fail = (error: Error) => {
  progress.hidden = true;
  say(error.message, true);
};
const computing = latest(fail);

const hex = (bytes: ArrayBuffer) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The hash of the vector's 384 floats as they lie in memory, little-endian. */
async function hashOf(vector: Float32Array): Promise<string> {
  return hex(await crypto.subtle.digest("SHA-256", Float32Array.from(vector).buffer));
}

function row(name: string, note: string, hash: string | undefined, own: string): HTMLTableRowElement {
  const line = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  head.append(name, Object.assign(document.createElement("small"), { textContent: note }));
  const value = document.createElement("td");
  value.append(Object.assign(document.createElement("code"), { textContent: hash ?? "not computed for this text" }));
  const verdict = document.createElement("td");
  if (hash !== undefined && own) {
    verdict.textContent = hash === own ? "the same" : "another";
    verdict.className = hash === own ? "good" : "bad";
  }
  line.append(head, value, verdict);
  return line;
}

const compute = () => computing(async (signal) => {
  const text = input.value;
  if (!model || !text.trim()) return;
  const start = performance.now();
  const { data } = await model.embed(text, { signal });
  const time = performance.now() - start;
  const own = await hashOf(data);
  signal.throwIfAborted();
  stripes(element<HTMLCanvasElement>("vector"), data);
  element("numbers").textContent = `${Array.from(data.subarray(0, 4), (value) => value.toFixed(6)).join(", ")}, … ${data.length} numbers`;
  const at = texts.indexOf(text);
  element("hashes").replaceChildren(
    row("This browser", "WebAssembly, on this device", own, ""),
    ...elsewhere.map(({ name, note, hashes }) => row(name, note, hashes[at], own)),
  );
  element("own").hidden = at >= 0;
  const known = at < 0 ? "" : elsewhere.every(({ hashes }) => hashes[at] === own) ? ": every bit as everywhere else" : ": other bits than elsewhere";
  say(`Embedded in ${time.toFixed(1)} ms${known}`, at >= 0 && elsewhere.some(({ hashes }) => hashes[at] !== own));
});

async function start(): Promise<void> {
  model = await createWorker({ workers: 1 }).load("./all-MiniLM-L6-v2.int8.weights", {
    kind: "sentences",
    cache: "cache-api",
    onProgress({ loaded, total, phase }) {
      progress.value = loaded / (total ?? 24e6);
      say(`${phase === "cache" ? "Reading" : "Downloading"} the model: ${bytes(loaded)}`);
    },
  });
  progress.hidden = true;
  input.disabled = false;
  await compute();
}

input.value = texts[0]!;
input.addEventListener("input", () => void compute());
element("samples").append(...texts.map((text) => {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: text });
  button.addEventListener("click", () => {
    input.value = text;
    void compute();
  });
  return button;
}));
start().catch(fail);
