import { NanoembedError } from "./errors.js";
import type { Sink } from "./sink.js";

/** What compares a file that has arrived with `sha256-…`, as in `<script integrity>`; whether it can is known before. */
export function comparing(integrity: string): (sink: Sink) => Promise<void> {
  const wanted = /^sha256-([A-Za-z0-9+/]{43}=)$/.exec(String(integrity).trim());
  if (!wanted) throw new NanoembedError("invalid_argument", "integrity must be `sha256-` and 44 characters of base64");
  const subtle = (globalThis.crypto as Crypto | undefined)?.subtle;
  if (!subtle) throw new NanoembedError("no_crypto", "SHA-256 can be checked on secure pages (https, localhost) only");
  return async (sink) => {
    const digest = await subtle.digest("SHA-256", (await sink.bytes()) as Uint8Array<ArrayBuffer>);
    const found = btoa(String.fromCharCode(...new Uint8Array(digest)));
    if (found !== wanted[1]) throw new NanoembedError("integrity", `the file's SHA-256 is sha256-${found}, not ${integrity}`);
  };
}
