// Folders of strangers: names that lead elsewhere, answers without an end, servers that say no more.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGzip } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { init, inspect, load, memoryBytes } from "../dist/index.js";
import { addressWithin } from "../js/folder.js";
import { largestDifference, modelBytes } from "./files.js";
import { expected, models, picked } from "./folders.js";

const NAME = "mpnet";
const POOLING = readFileSync(join(models, NAME, "1_Pooling/config.json"));
const POOLED = "1_Pooling";

type Answer = (path: string, response: ServerResponse, request: IncomingMessage) => void;
const servers: Server[] = [];
const folders: string[] = [];

/** A server, what it was asked for, and how many answers have not ended. */
async function serve(answer: Answer) {
  const state = { origin: "", asked: [] as string[], open: 0 };
  const server = createServer((request, response) => {
    state.asked.push(request.url!);
    state.open += 1;
    response.on("close", () => { state.open -= 1; });
    answer(request.url!, response, request);
  });
  servers.push(server);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  state.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;
}

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** A file of the model's folder; nothing if it has none. */
function fileOf(path: string): Buffer | undefined {
  try {
    return readFileSync(join(models, NAME, path));
  } catch {
    return undefined;
  }
}

/** Answers with what there is at a path of the folder `/model/`. */
const fromFolder: Answer = (path, response) => {
  const file = path.startsWith("/model/") ? fileOf(path.slice("/model/".length)) : undefined;
  if (file) response.setHeader("content-length", file.length).end(file);
  else response.writeHead(404).end();
};

/** The folder's list of modules, with the pooling elsewhere. */
const modulesWith = (path: string): string =>
  readFileSync(join(models, NAME, "modules.json"), "utf8").replace(JSON.stringify(POOLED), JSON.stringify(path));

const HOST = "HOST";
const LEAVING = [
  `http://${HOST}/internal`, `//${HOST}/x`, `\t//${HOST}/x`, `/\t/${HOST}/x`, `\\\\${HOST}\\x`, `http:/x`, `http:x`, "https:x", "file:../x", "file:///x",
  "data:text/plain,x", "C:/x", "C:x", "/x", "../x", "..\\x", "x/../../x", ".. /x", "\n../x", `${POOLED}/..`,
];

describe("paths of modules that leave the folder", () => {
  test.each(LEAVING)("%j", async (leaving) => {
    // Wherever it leads, there is a module that would do.
    const other = await serve((_, response) => void response.end(POOLING));
    const path = leaving.replace(HOST, new URL(other.origin).host);
    const modules = modulesWith(path);
    const server = await serve((asked, response, request) => {
      if (asked === "/model/modules.json") response.end(modules);
      else if (asked.startsWith("/model/")) fromFolder(asked, response, request);
      else response.end(POOLING);
    });
    const refused = { code: "bad_metadata", message: expect.stringContaining("modules.json") };
    await expect(load(`${server.origin}/model/`)).rejects.toMatchObject(refused);
    expect(other.asked).toEqual([]);
    expect(server.asked.filter((asked) => !asked.startsWith("/model/") || /\.\.|%2e|\\|:/i.test(asked))).toEqual([]);

    const place = mkdtempSync(join(tmpdir(), "nanoembed-"));
    folders.push(place);
    cpSync(join(models, NAME), join(place, "model"), { recursive: true });
    mkdirSync(join(place, "x"));
    writeFileSync(join(place, "x/config.json"), POOLING);
    writeFileSync(join(place, "model/modules.json"), modulesWith(path));
    await expect(load(`${join(place, "model")}/`)).rejects.toMatchObject(refused);

    const changed = picked(NAME, (file, bytes) => (file === "modules.json" ? new TextEncoder().encode(modules) as Uint8Array<ArrayBuffer> : bytes));
    await expect(load(changed)).rejects.toMatchObject(refused);
  });

  test.each(["%2e%2e/x", ".%2e/x", "%2E%2e", "x%2f..%2f..%2fx", "a?b", "a#b"])("%j is a name in it, and nothing else", async (path) => {
    const server = await serve((asked, response, request) => {
      if (asked === "/model/modules.json") response.end(modulesWith(path));
      else if (decodeURIComponent(asked) === `/model/${path}/config.json`) response.end(POOLING);
      else fromFolder(asked, response, request);
    });
    using model = await load(`${server.origin}/model/`, { kind: "sentences" });
    expect(model.dims).toBeGreaterThan(0);
    expect(server.asked).toContain(`/model/${path.split("/").map(encodeURIComponent).join("/")}/config.json`);
  });

  test.each(["../x", "..", "a/../../x"])("%j is told by the address, too", (path) => {
    for (const folder of ["http://example.com/a/b/", "file:///a/b/"]) {
      expect(() => addressWithin(new URL(folder), path)).toThrow(/no path within the folder/);
      expect(addressWithin(new URL(folder), "a b/c?d").href).toBe(`${folder}a%20b/c%3Fd`);
      expect(addressWithin(new URL(folder), "//x/http://y").href).toBe(`${folder}//x/http%3A//y`);
    }
  });
});

test.each(["http:m", "file:m", "//HOST/m", "../m", "..\\m", "C:m", "\tm", "a/m"])("parts of weights called %j are refused", async (name) => {
  const other = await serve((_, response) => void response.end("x"));
  const part = `${name.replace(HOST, new URL(other.origin).host)}.safetensors`;
  const server = await serve((asked, response, request) => {
    if (asked === "/model/model.safetensors.index.json") response.end(JSON.stringify({ weight_map: { a: part } }));
    else if (asked.endsWith(".safetensors")) response.writeHead(404).end();
    else fromFolder(asked, response, request);
  });
  await expect(load(`${server.origin}/model/`)).rejects.toMatchObject({ message: expect.stringContaining("weight_map") });
  expect(other.asked).toEqual([]);
  expect(server.asked.every((asked) => asked.startsWith("/model/"))).toBe(true);
});

test("a server may send to another for its files, as hubs do; names count from the address that was given", async () => {
  const blobs = await serve((path, response, request) => fromFolder(path.replace(/^\/blobs\//, "/model/"), response, request));
  const server = await serve((path, response) => {
    if (fileOf(path.slice("/model/".length))) response.writeHead(302, { location: `${blobs.origin}/blobs/${path.slice("/model/".length)}` }).end();
    else response.writeHead(404).end();
  });
  using model = await load(`${server.origin}/model/`, { kind: "sentences" });
  const [{ text, values }] = expected(NAME).rows;
  expect(largestDifference((await model.embed(text, { prompt: "" })).data, values)).toBeLessThan(1e-5);
  expect(server.asked).toContain(`/model/${POOLED}/config.json`);
  // It is asked for nothing that the server did not send there.
  expect(blobs.asked.map((path) => path.replace("/blobs/", "/model/")).filter((path) => !server.asked.includes(path))).toEqual([]);
});

describe("the limit of bytes", () => {
  test("is one of all that a folder's files have, to the byte", async () => {
    let sent = 0;
    const server = await serve((path, response, request) => {
      const file = path.startsWith("/model/") ? fileOf(path.slice("/model/".length)) : undefined;
      sent += file?.length ?? 0;
      fromFolder(path, response, request);
    });
    const address = `${server.origin}/model/`;
    (await load(address)).dispose();
    const maxBytes = sent;
    (await load(address, { limits: { maxBytes } })).dispose();
    await expect(load(address, { limits: { maxBytes: maxBytes - 1 } })).rejects.toMatchObject({ code: "too_large", message: expect.stringContaining("the folder") });
    (await load(picked(NAME), { limits: { maxBytes } })).dispose();
    await expect(load(picked(NAME), { limits: { maxBytes: maxBytes - 1 } })).rejects.toMatchObject({ code: "too_large" });
    const place = `${join(models, NAME)}/`;
    (await load(place, { limits: { maxBytes } })).dispose();
    await expect(load(place, { limits: { maxBytes: maxBytes - 1 } })).rejects.toMatchObject({ code: "too_large" });
  });

  test.each([undefined, "tokenizer.json", "1_Pooling/config.json", "model.safetensors"])("counts what is decompressed of %s", async (only) => {
    // Zeros without an end, of which a thousand make a byte.
    const server = await serve((path, response, request) => {
      if (only && !path.endsWith(only)) return fromFolder(path, response, request);
      response.writeHead(200, { "content-encoding": "gzip" });
      const zip = createGzip();
      zip.pipe(response);
      const zeros = Buffer.alloc(1 << 20);
      const more = () => {
        while (!response.closed && zip.write(zeros));
        if (!response.closed) zip.once("drain", more);
      };
      response.on("close", () => zip.destroy());
      more();
    });
    await expect(load(`${server.origin}/model/`, { limits: { maxBytes: 1e7 } })).rejects.toMatchObject({
      code: expect.stringMatching(/^(too_large|unknown_format|bad_json)$/),
    });
    await expect.poll(() => server.open).toBe(0);
  });

  test("holds before memory is taken for what a file says of its size", async () => {
    await init();
    const before = memoryBytes();
    const file = modelBytes();
    const source = new Blob([file]).stream();
    await expect(load(source, { limits: { maxBytes: 1e7 } })).rejects.toMatchObject({
      code: "too_large", message: expect.stringContaining(`${file.length} bytes`),
    });
    expect(memoryBytes() - before).toBeLessThan(1e7);
  });
});

describe("a server that says no more", () => {
  const half = (path: string, response: ServerResponse) => {
    const file = fileOf(path.slice("/model/".length))!;
    response.writeHead(200, { "content-length": file.length });
    response.write(file.subarray(0, file.length >> 1));
  };
  test.each([
    ["tokenizer.json", half], ["tokenizer.json", () => {}], ["1_Pooling/config.json", half], ["1_Pooling/config.json", () => {}],
    ["model.safetensors", half], ["model.safetensors", () => {}],
  ] as const)("in %s is not waited for", async (silent, answer) => {
    const server = await serve((path, response, request) => {
      if (path.endsWith(silent)) answer(path, response);
      else fromFolder(path, response, request);
    });
    await expect(load(`${server.origin}/model/`, { stall: 200, retries: 0 })).rejects.toMatchObject({
      code: "timed_out", message: expect.stringContaining(`${server.origin}/model/${silent}`),
    });
    await expect.poll(() => server.open).toBe(0);
  });

  test("when it is asked whether the weights are in one file is not waited for", async () => {
    const server = await serve((path, response, request) => {
      if (path.endsWith("index.json")) response.end(JSON.stringify({ weight_map: { a: "m.safetensors" } }));
      else if (!path.endsWith(".safetensors")) fromFolder(path, response, request);
    });
    await expect(load(`${server.origin}/model/`, { stall: 200, retries: 0 })).rejects.toMatchObject({ code: "timed_out" });
    await expect.poll(() => server.open).toBe(0);
  });
});

/** A stream that gives these bytes, and nothing afterwards. */
const silentAfter = (bytes: Uint8Array) => {
  let isFirst = true;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (!isFirst) return new Promise<void>(() => {});
      isFirst = false;
      controller.enqueue(bytes);
      return undefined;
    },
  });
};

test("files and streams that say no more are not waited for", async () => {
  for (const silent of ["tokenizer.json", "model.safetensors"]) {
    const files = picked(NAME);
    const file = files.find(({ webkitRelativePath }) => webkitRelativePath === `${NAME}/${silent}`)!;
    file.stream = () => silentAfter(new Uint8Array(readFileSync(join(models, NAME, silent))).slice(0, 100)) as ReturnType<File["stream"]>;
    await expect(load(files, { stall: 100 })).rejects.toMatchObject({ code: "timed_out", message: expect.stringContaining(silent) });
  }
  const start = new Uint8Array(readFileSync(join(models, "../finalfusion/floret.fifu"))).slice(0, 100);
  await expect(load(silentAfter(start), { stall: 100 })).rejects.toMatchObject({ code: "timed_out" });
  await expect(load(new Response(silentAfter(start)), { stall: 100 })).rejects.toMatchObject({ code: "timed_out" });
});

test("pipes, which nobody may ever write to, are no files of a folder", async () => {
  const place = mkdtempSync(join(tmpdir(), "nanoembed-"));
  folders.push(place);
  cpSync(join(models, NAME), place, { recursive: true });
  rmSync(join(place, "tokenizer.json"));
  execFileSync("mkfifo", [join(place, "tokenizer.json")]);
  const refused = { code: "missing_file", message: expect.stringContaining("no regular file") };
  await expect(load(`${place}/`)).rejects.toMatchObject(refused);
  await expect(load(join(place, "tokenizer.json"))).rejects.toMatchObject(refused);
  await expect(inspect("/dev/zero")).rejects.toMatchObject(refused);
});

test("a range that does not end is read no further than was asked for", async () => {
  const server = await serve((_, response) => {
    response.writeHead(206, { "content-range": "bytes 0-65535/1000000" });
    const more = () => {
      while (!response.closed && response.write(Buffer.alloc(1 << 16)));
      if (!response.closed) response.once("drain", more);
    };
    more();
  });
  await expect(inspect(`${server.origin}/file`)).rejects.toMatchObject({ code: "unknown_format" });
  await expect.poll(() => server.open).toBe(0);
});

test("what cannot be the address of a folder is said to be none", async () => {
  for (const address of ["data:text/plain,/", "blob:nodedata:1/"]) {
    await expect(load(address)).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringContaining("no address of a folder") });
  }
});
