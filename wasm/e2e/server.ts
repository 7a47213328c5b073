// A web server on loopback: the package as it is published, under a strict policy, and connections that misbehave.
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { gzipSync } from "node:zlib";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm",
  ".json": "application/json", ".svg": "image/svg+xml", ".webmanifest": "application/manifest+json",
};

/** What a page may do: nothing but what the package needs. No COOP, no COEP. */
export const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data:; manifest-src 'self'";

const BLANK = '<!doctype html><title>test</title><script type="module" src="/probe.js"></script>';
/** Asks by itself: what a test evaluates in a page is exempt from the policy. */
const PROBE = 'try { new Function("1"); window.evaluates = true } catch { window.evaluates = false }';

export interface TestServer {
  readonly origin: string;
  /** The requests since the last call. */
  requests(): { path: string; range: string | undefined }[];
  close(): Promise<void>;
}

/** Serves `folders` (address prefix → folder) and `/hostile/MODE/NAME` for `files` (name → bytes). */
export async function serve(
  folders: Record<string, string>, files: Record<string, Uint8Array>, headers: Record<string, string> = {},
): Promise<TestServer> {
  let seen: { path: string; range: string | undefined }[] = [];
  /** How often a misbehaving address was asked for, by address. */
  const asked = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url!, "http://x").pathname);
    seen.push({ path, range: request.headers.range });
    response.setHeader("content-security-policy", POLICY);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    const hostile = /^\/hostile\/([^/]+)\/(?:[^/]+\/)?([^/]+)$/.exec(path);
    if (hostile && files[hostile[2]!]) {
      const times = (asked.get(path) ?? 0) + 1;
      asked.set(path, times);
      void misbehave(hostile[1]!, files[hostile[2]!]!, times, request, response);
      return;
    }
    for (const [prefix, folder] of Object.entries(folders)) {
      if (!path.startsWith(prefix)) continue;
      let file = normalize(join(folder, path.slice(prefix.length)));
      if (existsSync(file) && statSync(file).isDirectory()) file = join(file, "index.html");
      if (!file.startsWith(folder) || !existsSync(file)) continue;
      send(readFileSync(file), TYPES[extname(file)] ?? "application/octet-stream", request, response);
      return;
    }
    if (path === "/blank") return void response.writeHead(200, { "content-type": "text/html" }).end(BLANK);
    if (path === "/probe.js") return void response.writeHead(200, { "content-type": "text/javascript" }).end(PROBE);
    if (path === "/favicon.ico") return void response.writeHead(204).end();
    response.writeHead(404, { "content-type": "text/plain" }).end("not found");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests() {
      const all = seen;
      seen = [];
      return all;
    },
    close: () => new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    }),
  };
}

const tag = (bytes: Uint8Array) => `"${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}"`;

/** A server as it should be, with ranges. */
function send(bytes: Uint8Array, type: string, request: IncomingMessage, response: ServerResponse, etag = tag(bytes)): void {
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
  const isSame = request.headers["if-range"] === undefined || request.headers["if-range"] === etag;
  const headers = { "content-type": type, "accept-ranges": "bytes", etag, "cache-control": "no-store" };
  if (range && isSame) {
    const start = Number(range[1]);
    const end = Math.min(bytes.length, range[2] ? Number(range[2]) + 1 : bytes.length);
    if (start >= bytes.length) return void response.writeHead(416, { "content-range": `bytes */${bytes.length}` }).end();
    response.writeHead(206, { ...headers, "content-length": end - start, "content-range": `bytes ${start}-${end - 1}/${bytes.length}` });
    response.end(bytes.subarray(start, end));
    return;
  }
  response.writeHead(200, { ...headers, "content-length": bytes.length });
  response.end(request.method === "HEAD" ? undefined : bytes);
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function write(response: ServerResponse, bytes: Uint8Array): Promise<void> {
  if (!response.write(bytes)) await Promise.race([new Promise((r) => response.once("drain", r)), new Promise((r) => response.once("close", r))]);
}

async function misbehave(mode: string, bytes: Uint8Array, times: number, request: IncomingMessage, response: ServerResponse) {
  const type = "application/octet-stream";
  const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
  const half = bytes.length >> 1;
  const headers = { "content-type": type, etag: tag(bytes), "content-length": bytes.length };
  switch (mode) {
    case "good":
      return send(bytes, type, request, response);
    case "chopped": // pieces of 1 to 999 bytes, no length
      response.writeHead(200, { "content-type": type });
      for (let at = 0, step = 1; at < bytes.length; at += step, step = (step * 7 + 3) % 999 + 1) {
        await write(response, bytes.subarray(at, at + step));
        if (step % 16 === 0) await pause(1);
      }
      return void response.end();
    case "slow": // a piece now and then
      response.writeHead(200, headers);
      for (let at = 0; at < bytes.length && !response.destroyed; at += 5000) {
        await write(response, bytes.subarray(at, at + 5000));
        await pause(10);
      }
      return void response.end();
    case "broken": { // breaks off three times, and goes on where it broke
      if (times > 3) return send(bytes, type, request, response);
      const rest = bytes.subarray(start);
      const ranged = start > 0 ? { "content-range": `bytes ${start}-${bytes.length - 1}/${bytes.length}`, "content-length": rest.length } : {};
      response.writeHead(start > 0 ? 206 : 200, { ...headers, ...ranged });
      await write(response, rest.subarray(0, rest.length >> 2));
      await pause(30);
      return void response.destroy();
    }
    case "broken-for-good":
      response.writeHead(start > 0 ? 206 : 200, start > 0 ? { ...headers, "content-range": `bytes ${start}-${bytes.length - 1}/${bytes.length}`, "content-length": bytes.length - start } : headers);
      await write(response, bytes.subarray(start, start + 1000));
      await pause(20);
      return void response.destroy();
    case "no-tag": // breaks off, and nothing says that the file stays the same
      response.writeHead(200, { "content-type": type, "content-length": bytes.length });
      await write(response, bytes.subarray(0, half));
      await pause(20);
      return void response.destroy();
    case "changing": // breaks off; then there is another file
      if (times > 1) return send(Uint8Array.from(bytes, (byte) => byte ^ 1), type, request, response);
      response.writeHead(200, headers);
      await write(response, bytes.subarray(0, half));
      await pause(20);
      return void response.destroy();
    case "changing-ranges": // another file for every request
      return send(bytes, type, request, response, `"${randomBytes(8).toString("hex")}"`);
    case "flipped": { // one bit
      const flipped = Uint8Array.from(bytes);
      flipped[half]! ^= 8;
      return send(flipped, type, request, response);
    }
    case "cut": // ends too early, and says that this is all
      return send(bytes.subarray(0, half), type, request, response);
    case "longer": // goes on after its end
      return send(Buffer.concat([bytes, randomBytes(100)]), type, request, response);
    case "stalled": // stops, and stays open
      response.writeHead(200, headers);
      return void (await write(response, bytes.subarray(0, half)));
    case "packed": // compressed on the way, for those who accept it: whoever asks for ranges does not
      if (!request.headers["accept-encoding"]?.includes("gzip")) return send(bytes, type, request, response);
      response.writeHead(200, { "content-type": type, "content-encoding": "gzip" });
      return void response.end(gzipSync(bytes));
    case "no-ranges":
      response.writeHead(200, headers);
      return void response.end(bytes);
    case "page": // an error page that claims to be fine
      return void response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Sign in</title>");
    default:
      response.writeHead(Number(mode) || 404).end("no");
  }
}
