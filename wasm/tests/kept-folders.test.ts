// Folders that are kept: they load without a network, and nothing stays of those that were not whole.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { load } from "../dist/index.js";
import { largestDifference } from "./files.js";
import { expected, models } from "./folders.js";

/** The part of the Cache API that is used, which Node does not have. */
class Store {
  readonly kept = new Map<string, Response>();
  async match(address: string) {
    return this.kept.get(address)?.clone();
  }
  async put(address: string, response: Response) {
    this.kept.set(address, response);
  }
}

let store: Store;
beforeEach(() => {
  store = new Store();
  vi.stubGlobal("caches", { open: async () => store });
});
afterEach(() => void vi.unstubAllGlobals());

/** A server of a folder; `broken` is a file that it answers with another text. */
async function serve(name: string) {
  const state = { address: "", asked: 0, broken: "", close: () => {} };
  const server = createServer((request, response) => {
    state.asked += 1;
    const path = request.url!.slice("/model/".length);
    if (path === state.broken) return void response.end("{}");
    try {
      response.end(readFileSync(join(models, name, path)));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  state.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/model/`;
  state.close = () => {
    server.closeAllConnections();
    server.close();
  };
  return state;
}

const options = { kind: "sentences", cache: "cache-api" } as const;

async function embeds(name: string, address: string) {
  using model = await load(address, options);
  const [{ text, values }] = expected(name).rows;
  expect(largestDifference((await model.embed(text, { prompt: "" })).data, values)).toBeLessThan(1e-5);
}

test.each(["mpnet", "bert_cased"])("%s loads without its server", async (name) => {
  const server = await serve(name);
  try {
    await embeds(name, server.address);
    const { asked } = server;
    server.close();
    await embeds(name, server.address);
    expect(server.asked).toBe(asked);
    await expect(load(server.address, { ...options, limits: { maxBytes: 1000 } })).rejects.toMatchObject({ code: "too_large" });
  } finally {
    server.close();
  }
});

test("a folder that was not whole is asked for again, and so is one whose copy is damaged", async () => {
  const server = await serve("mpnet");
  try {
    server.broken = "tokenizer.json";
    await expect(load(server.address, options)).rejects.toMatchObject({ message: expect.stringContaining("tokenizer.json") });
    server.broken = "";
    await embeds("mpnet", server.address);
    for (const damaged of ["no JSON", '[["config.json", "{}"]]', '[["config.json", null]]']) {
      store.kept.set(server.address, new Response(damaged));
      await embeds("mpnet", server.address);
    }
  } finally {
    server.close();
  }
});
