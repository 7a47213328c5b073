// Settings that no reader knows: refused, unless the caller lets them pass by name, with a warning each.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { load, type LoadOptions, type SentenceModel } from "../dist/index.js";
import { createWorker } from "../dist/worker.js";
import { expected, picked } from "./folders.js";
import { weightsOf } from "./weights.js";

const NAME = "mpnet";
const UNKNOWN = ["is_matryoshka", "layer_colour"];

/** The folder with two settings more, one of them shorter than `null`. */
const folder = (): File[] => picked(NAME, (path, bytes) => {
  if (path !== "config.json") return bytes;
  const text = new TextDecoder().decode(bytes);
  const more = '"is_matryoshka": 1, "layer_colour": {"red": [1, "}"]}';
  return Uint8Array.from(new TextEncoder().encode(text.replace("{", `{${more}, `)));
});

const warn = vi.spyOn(console, "warn");
beforeEach(() => void warn.mockReset());
afterEach(() => void warn.mockReset());

const told = () => warn.mock.calls.map(([text]) => String(text));

const WARNINGS = UNKNOWN.map((name) => `config.json: \`${name}\` is passed over; nobody here knows what it changes`);

async function check(load: (options: LoadOptions) => Promise<unknown>) {
  const refused = (name: string) => ({ code: "unsupported_setting", message: expect.stringContaining(`: ${name}; `) as string });
  await expect(load({})).rejects.toMatchObject(refused("is_matryoshka"));
  await expect(load({ allowUnknown: ["layer_colour"] })).rejects.toMatchObject(refused("is_matryoshka"));
  await expect(load({ allowUnknown: ["is_matryoshka", "hidden_size"] })).rejects.toMatchObject(refused("layer_colour"));
  await expect(load({ allowUnknown: "is_matryoshka" as never })).rejects.toMatchObject({ code: "invalid_argument" });
  expect(told()).toEqual([]);
  const model = (await load({ allowUnknown: UNKNOWN })) as SentenceModel;
  expect(model.warnings).toEqual(WARNINGS);
  expect(told()).toEqual(WARNINGS.map((warning) => `nanoembed: ${warning}`));
  for (const { text, values, prompt_name } of expected(NAME).rows) {
    const { data } = await model.embed(text, prompt_name ? { promptName: prompt_name } : {});
    data.forEach((value, at) => expect(value).toBeCloseTo(values[at]!, 4));
  }
  model.dispose();
}

test("unknown settings of a folder are ignored by name, with a warning each", async () => {
  await check((options) => load(folder(), options));
});

test("those in the texts that a file keeps are ignored likewise", async () => {
  const file = weightsOf(NAME, 1, (path, text) => path !== "config.json" ? text
    : text.replace("{", '{"is_matryoshka": 1, "layer_colour": {"red": [1, "}"]}, '));
  await check((options) => load(file.slice(), options));
});

test("workers ignore them, too, and the page is told once", async () => {
  // By address: what Node sends to a worker of a file has no name.
  const files = new Map(folder().map((file) => [file.webkitRelativePath.replace(NAME, ""), file]));
  const server = createServer(({ url }, response) => {
    const file = files.get(url!);
    if (file) void file.arrayBuffer().then((bytes) => response.end(new Uint8Array(bytes)));
    else response.writeHead(404).end();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  try {
    using workers = createWorker({ workers: 2 });
    await check((options) => workers.load(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, options));
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("a model without unknown settings has no warnings", async () => {
  const model = (await load(picked(NAME), { allowUnknown: UNKNOWN })) as SentenceModel;
  expect(model.warnings).toEqual([]);
  expect(told()).toEqual([]);
  model.dispose();
});
