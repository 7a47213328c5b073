// Connections that break in ways that a page cannot see: what is still waited for, and what stays open.
import { execFileSync } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { inspect, load, open } from "../dist/index.js";
import { bytes, modelBytes } from "./files.js";

const file = bytes("finalfusion", "floret.fifu");
const etag = '"one"';

type Answer = (request: IncomingMessage, response: ServerResponse, start: number) => void;
const servers: ReturnType<typeof createServer>[] = [];

/** A server's address, its requests so far and how many of them have a connection that is open. */
async function serve(answer: Answer) {
  const state = { address: "", requests: 0, open: 0 };
  const server = createServer((request, response) => {
    state.requests += 1;
    state.open += 1;
    response.on("close", () => { state.open -= 1; });
    answer(request, response, Number(/^bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0));
  });
  servers.push(server);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  state.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`;
  return state;
}

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Sends half of the file and breaks off; then goes on with a few bytes and says no more. */
const silentAfterResuming: Answer = (_, response, start) => {
  const size = file.length;
  if (start === 0) {
    response.writeHead(200, { etag, "content-length": size });
    response.write(file.subarray(0, size >> 1), () => setTimeout(() => response.destroy(), 20));
    return;
  }
  response.writeHead(206, { etag, "content-length": size - start, "content-range": `bytes ${start}-${size - 1}/${size}` });
  response.write(file.subarray(start, start + 10));
};

/** Says nothing after the first bytes. */
const silent: Answer = (_, response) => {
  response.writeHead(206, { etag, "content-length": 1000, "content-range": `bytes 0-999/${file.length}` });
  response.write(file.subarray(0, 100));
};

const pause = (milliseconds: number) => new Promise((over) => setTimeout(over, milliseconds));

test("a connection that was taken up again is watched as the first one was", async () => {
  const { address } = await serve(silentAfterResuming);
  await expect(load(address, { kind: "words", stall: 200, retries: 1 })).rejects.toMatchObject({ code: "timed_out" });
  const controller = new AbortController();
  const loading = load(address, { kind: "words", signal: controller.signal });
  setTimeout(() => controller.abort(new Error("enough")), 600);
  await expect(loading).rejects.toThrow("enough");
});

test("a file that is refused before it is read leaves no connection open", async () => {
  const server = await serve((_, response) => {
    response.writeHead(200, { etag, "content-length": 1e9 });
    response.write(file);
  });
  await expect(load(server.address, { limits: { maxBytes: 10 } })).rejects.toMatchObject({ code: "too_large" });
  await pause(100);
  expect(server.open).toBe(0);
  const unknown = await serve((_, response) => {
    response.writeHead(200, { etag, "content-length": 1e9 });
    response.write("<!doctype html>");
  });
  await expect(inspect(unknown.address)).rejects.toMatchObject({ code: "unknown_format" });
  await pause(100);
  expect(unknown.open).toBe(0);
});

test.each([["inspect", inspect], ["open", open]])("%s gives up where nothing comes, and tries again before that", async (_, read) => {
  const server = await serve(silent);
  await expect(read(server.address, { stall: 100, retries: 1 })).rejects.toMatchObject({ code: "timed_out" });
  expect(server.requests).toBe(2);
  const mute = await serve(() => {});
  await expect(read(mute.address, { stall: 100, retries: 0 })).rejects.toMatchObject({ code: "timed_out" });
  const whole = await serve((_request, response) => {
    response.writeHead(200, { "content-length": file.length });
    response.write(file.subarray(0, 4));
  });
  await expect(read(whole.address, { stall: 100 })).rejects.toMatchObject({ code: "timed_out" });
});

test("a range whose place is not told, as other origins' are not, is not taken for the whole file", async () => {
  const server = await serve((request, response) => {
    const part = request.headers.range === undefined ? file : file.subarray(0, 64);
    response.writeHead(part === file ? 200 : 206, { "content-length": part.length }).end(part);
  });
  expect((await inspect(server.address)).fileBytes).toBe(file.length);
});

test("a server that is busy when a connection is taken up again is asked once more", async () => {
  const server = await serve((_, response, start) => {
    const size = file.length;
    if (server.requests === 1) return silentAfterResuming(_, response, start);
    if (server.requests === 2) return void response.writeHead(503).end();
    response.writeHead(206, { etag, "content-length": size - start, "content-range": `bytes ${start}-${size - 1}/${size}` });
    response.end(file.subarray(start));
  });
  const words = await load(server.address, { kind: "words" });
  expect(server.requests).toBe(3);
  words.dispose();
});

test("a connection is taken up without headers that other origins would have to allow, and another file is told by its tag", async () => {
  const headers: string[] = [];
  const size = file.length;
  const serveTagged = (second: string) => serve((request, response, start) => {
    headers.push(...Object.keys(request.headers));
    if (start === 0) return silentAfterResuming(request, response, start);
    response.writeHead(206, { etag: second, "content-length": size - start, "content-range": `bytes ${start}-${size - 1}/${size}` });
    response.end(file.subarray(start));
  });
  const same = await serveTagged(etag);
  (await load(same.address, { kind: "words" })).dispose();
  expect(same.requests).toBe(2);
  expect(headers).toContain("range");
  expect(headers).not.toContain("if-range");
  const other = await serveTagged('"two"');
  await expect(load(other.address, { kind: "words" })).rejects.toMatchObject({ code: "source_changed" });
});

test("numbers of retries and milliseconds are numbers", async () => {
  for (const wrong of [{ retries: -1 }, { retries: NaN }, { retries: 1.5 }, { stall: 0 }, { stall: NaN }]) {
    await expect(load("http://127.0.0.1:9/", wrong)).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(inspect("http://127.0.0.1:9/", wrong)).rejects.toMatchObject({ code: "invalid_argument" });
  }
  const server = await serve((_, response) => setTimeout(() => response.writeHead(200).end(file), 300));
  for (const stall of [Infinity, 3e11]) (await load(server.address, { kind: "words", stall })).dispose();
  await expect(load(file, { limits: { maxBytes: NaN } })).rejects.toMatchObject({ code: "too_large" });
});

test("a module that never comes is waited for no longer than the caller wants", async () => {
  // With modules of its own.
  const stuck = (await import("../dist/index.js" + "?stuck")) as typeof import("../dist/index.js");
  void stuck.init({ module_or_path: new Promise(() => {}) });
  const model = modelBytes();
  for (const source of [model, new Blob([model])]) {
    await expect(stuck.load(source, { signal: AbortSignal.timeout(100) })).rejects.toMatchObject({ name: "TimeoutError" });
  }
});

test("a digest that is none is said before anything is fetched", async () => {
  const server = await serve((_, response) => void response.end(file));
  await expect(load(server.address, { integrity: "md5-x" })).rejects.toMatchObject({ code: "invalid_argument" });
  await expect(load(server.address, { integrity: 5 as never })).rejects.toMatchObject({ code: "invalid_argument" });
  await expect(load(server.address, { cache: "idb" as never })).rejects.toMatchObject({ code: "invalid_argument" });
  expect(server.requests).toBe(0);
});

test("a request's own signal ends its download", async () => {
  const server = await serve((_, response) => void response.writeHead(200, { "content-length": 1e6 }).write(file));
  const controller = new AbortController();
  const loading = load(new Request(server.address, { signal: controller.signal }), { kind: "words" });
  setTimeout(() => controller.abort(), 100);
  await expect(loading).rejects.toThrow("abort");
});

test.each([["inspect", inspect], ["open", open], ["load", load]])("%s says what address does not answer, and at once", async (_, read) => {
  const { address } = await serve(() => {});
  const [server] = servers;
  server!.closeAllConnections();
  await new Promise((closed) => server!.close(closed));
  await expect(read(address)).rejects.toMatchObject({ code: "connection_lost", message: expect.stringMatching(/^http.*file does not answer: ECONNREFUSED$/) });
});

test.each([["inspect", inspect], ["open", open], ["load", load]])("%s refuses what is no source", async (_, read) => {
  for (const source of [undefined, {}, 5]) await expect(read(source as never)).rejects.toMatchObject({ code: "invalid_argument" });
});

test.each([["inspect", inspect], ["open", open], ["load", load]])("%s says of what address nothing comes any more, and closes it", async (_, read) => {
  const state = await serve((_, response) => {
    response.writeHead(200, { "content-length": file.length });
    response.write(file.subarray(0, 20));
  });
  await expect(read(state.address, { stall: 200, retries: 0 })).rejects.toMatchObject({ code: "timed_out", message: expect.stringContaining(state.address) });
  await pause(300);
  expect(state.open).toBe(0);
});

test("a file that is too large, another one than was meant or a page is told by its address", async () => {
  const { address } = await serve((_, response) => response.end(file));
  await expect(load(address, { limits: { maxBytes: 10 } })).rejects.toMatchObject({ code: "too_large", message: expect.stringContaining(address) });
  const integrity = `sha256-${"A".repeat(43)}=`;
  await expect(load(address, { integrity })).rejects.toMatchObject({ code: "integrity", message: expect.stringContaining(address) });
  const { address: page } = await serve((_, response) => response.end("<!doctype html><title>Home</title>".padEnd(999)));
  await expect(inspect(page)).rejects.toMatchObject({ message: expect.stringContaining(page) });
});

test("a Node that is too old to read files is told which one is not", () => {
  const program = `
    process.getBuiltinModule = undefined;
    const { load } = await import(${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)});
    const sources = ["model.weights", "folder/", new TextEncoder().encode("FiFu".padEnd(99, "\\0"))];
    for (const source of sources) console.log(await load(source).catch(({ message }) => message));
  `;
  const said = execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" }).trim().split("\n");
  expect(said).toHaveLength(3);
  for (const line of said) expect(line).toContain("Node 20.16, 22.3 and later");
});

test.each([undefined, 'W/"weak"'])("a file with the tag %s is begun again where its connection breaks", async (tag) => {
  const server = await serve((request, response) => {
    expect(request.headers.range).toBeUndefined();
    response.writeHead(200, { "content-length": file.length, ...(tag && { etag: tag }) });
    if (server.requests < 3) response.write(file.subarray(0, file.length >> 1), () => setTimeout(() => response.destroy(), 20));
    else response.end(file);
  });
  using words = await load(server.address, { kind: "words" });
  using whole = await load(file, { kind: "words" });
  expect([words.count, server.requests]).toEqual([whole.count, 3]);
  await expect(load((await serve((_, response) => {
    response.writeHead(200, { "content-length": file.length });
    response.write(file.subarray(0, 10), () => response.destroy());
  })).address, { kind: "words", retries: 1 })).rejects.toMatchObject({ code: "connection_lost" });
});

test("of a server that knows no ranges what was there is passed over, if the file is the same", async () => {
  const serveWhole = (second: string) => serve((request, response, start) => {
    if (start === 0) return silentAfterResuming(request, response, start);
    response.writeHead(200, { etag: second, "content-length": file.length }).end(file);
  });
  const same = await serveWhole(etag);
  using words = await load(same.address, { kind: "words" });
  using whole = await load(file, { kind: "words" });
  expect([words.count, same.requests]).toEqual([whole.count, 2]);
  await expect(load((await serveWhole('"two"')).address, { kind: "words" })).rejects.toMatchObject({ code: "source_changed" });
});
