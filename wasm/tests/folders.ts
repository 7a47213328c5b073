// Folders of models under tests/data/models, as somebody picks them, and what they must give.
import { readFileSync, readdirSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { data } from "./files.js";

export const models = join(data, "models");
/** Models that make other vectors than one for a text. */
export const heads = join(data, "heads");

/** The folders that have weights. */
export const complete: readonly string[] = readdirSync(models)
  .filter((name) => readdirSync(join(models, name)).includes("model.safetensors"));

/** A folder's files as a browser gives them: of one of the models, or at a path. */
export function picked(name: string, change: (path: string, bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer> | undefined = (_, bytes) => bytes): File[] {
  const folder = resolve(models, name);
  const files: File[] = [];
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    const whole = join(entry.parentPath, entry.name);
    const path = relative(folder, whole).replaceAll("\\", "/");
    const bytes = change(path, Uint8Array.from(readFileSync(whole)));
    if (!bytes) continue;
    const file = new File([bytes], entry.name);
    Object.defineProperty(file, "webkitRelativePath", { value: `${basename(folder)}/${path}` });
    files.push(file);
  }
  return files;
}

export interface Row {
  text: string;
  prompt_name: string | null;
  query: string;
  document: string;
  ids: number[];
  sigmoid: number;
  values: Float32Array;
}

/** What a folder's texts, or pairs of texts, must give. */
export function expected(name: string): { rows: [Row, ...Row[]]; maxLength: number } {
  const described = JSON.parse(readFileSync(join(models, name, "expected.json"), "utf8")) as { rows: Row[]; max_length: number };
  const bytes = Uint8Array.from(readFileSync(join(models, name, "expected.f32")));
  const all = new Float32Array(bytes.buffer);
  const width = all.length / described.rows.length;
  const rows = described.rows.map((row, at) => ({ ...row, values: all.subarray(at * width, (at + 1) * width) })) as [Row, ...Row[]];
  return { rows, maxLength: described.max_length };
}
