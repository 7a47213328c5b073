import { NanoembedError } from "./errors.js";

/** Formats that one module reads: UQFF files are safetensors files, which only their tensors tell. */
export type Family = "amb" | "embd" | "finalfusion" | "gguf" | "safetensors";

/** Bytes that tell a family. */
export const MAGIC_BYTES = 9;

/** So many bytes of a file tell what it is, where that stands at its beginning. */
export const TELLING_BYTES = 1 << 12;

const MAGICS = [["AMBEE", "amb"], ["EMBD", "embd"], ["FiFu", "finalfusion"], ["GGUF", "gguf"]] as const;

/**
 * The family of a file that begins so. What begins like a safetensors file, with a length and an object, need not be one.
 *
 * @throws NanoembedError `unknown_format`
 */
export function familyOf(start: Uint8Array): Family {
  const text = String.fromCharCode(...start.subarray(0, MAGIC_BYTES));
  for (const [magic, family] of MAGICS) if (text.startsWith(magic)) return family;
  if (text[8] === "{") return "safetensors";
  const message = /^\W*<(?:!doctype|html|\?xml)/i.test(String.fromCharCode(...start.subarray(0, 64)))
    ? "a web page came in place of the file: the address is wrong, or the server answers with its own page where there is none"
    : start.length === 0 ? "nothing came: the file is empty" : "no format known here starts like this file";
  throw new NanoembedError("unknown_format", message, { offset: 0 });
}

/** Two pieces in one. */
export function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  if (a.length === 0) return b;
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
