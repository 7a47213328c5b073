import { NanoembedError } from "./errors.js";
import { NEWER_NODE, isOldNode } from "./package-files.js";

/** Why a request has no answer: browsers do not tell a server that is not there from one that does not let this page read. */
export async function requestFailure(address: string | URL | Request, cause: unknown): Promise<NanoembedError> {
  const url = address instanceof Request ? address.url : String(address);
  return new NanoembedError("connection_lost", await sentence(url, cause), { offset: 0, cause });
}

/** For how long a server is asked whether it is there. */
const PROBE_MILLISECONDS = 5_000;

async function sentence(url: string, cause: unknown): Promise<string> {
  let parsed: URL;
  try {
    parsed = new URL(url, globalThis.location?.href);
  } catch {
    return `"${url}" is no address: ${isOldNode() ? NEWER_NODE : "give a whole one, or the file's bytes"}`;
  }
  // Node says it itself.
  const inner = (cause as { cause?: { code?: string; message?: string } } | undefined)?.cause;
  if (parsed.protocol === "file:") return `${parsed.href} cannot be fetched: ${isOldNode() ? NEWER_NODE : "read the file and give its bytes"}`;
  const why = inner?.code ?? inner?.message;
  if (why) return `${parsed.href} does not answer: ${why}`;
  if (globalThis.navigator?.onLine === false) return `${parsed.href} cannot be fetched: there is no network`;
  if (parsed.origin === globalThis.location?.origin) return `${parsed.href} does not answer: ${String(cause)}`;
  // Whatever comes back may not be read, but it comes.
  const isThere = await fetch(parsed, { mode: "no-cors", method: "HEAD", signal: AbortSignal.timeout(PROBE_MILLISECONDS) }).then(() => true, () => false);
  // To an isolated page nothing comes that does not allow it.
  if (!isThere && globalThis.crossOriginIsolated) {
    return `${parsed.href} does not answer, or does not allow this page to read it: the page is cross-origin isolated, ` +
      "so that the server has to send access-control-allow-origin (CORS)";
  }
  return isThere
    ? `${parsed.href} answers, but does not allow pages of other origins to read it: the server has to send access-control-allow-origin (CORS)`
    : `${parsed.href} does not answer: no server is there, or the connection is blocked`;
}
