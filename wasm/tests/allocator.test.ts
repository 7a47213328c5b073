// The memory of modules that hold one model: blocks apart, bytes that stay, and free memory in one piece again.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

interface Memory {
  memory: WebAssembly.Memory;
  __wbindgen_malloc(bytes: number, align: number): number;
  __wbindgen_realloc(at: number, before: number, bytes: number, align: number): number;
  __wbindgen_free(at: number, bytes: number, align: number): void;
}

/** A module's functions, without what it asks of JavaScript. */
function opened(name: string): Memory {
  const module = new WebAssembly.Module(readFileSync(fileURLToPath(new URL(`../dist/${name}.wasm`, import.meta.url))));
  const imports: Record<string, Record<string, () => void>> = {};
  for (const { module: from, name: wanted } of WebAssembly.Module.imports(module)) (imports[from] ??= {})[wanted] = () => {};
  return new WebAssembly.Instance(module, imports).exports as unknown as Memory;
}

/** The same numbers below `limit` in each run. */
function numbers(): (limit: number) => number {
  let state = 1;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

describe.each(["nanoembed-static", "nanoembed-weights"])("%s", (name) => {
  test("blocks are apart and keep their bytes, and free memory is joined", () => {
    const { memory, __wbindgen_malloc: malloc, __wbindgen_realloc: realloc, __wbindgen_free: free } = opened(name);
    const below = numbers();
    const size = () => (below(50) === 0 ? 1 + below(300_000) : 1 + below(700));
    const blocks: { at: number; bytes: number; fill: number }[] = [];
    const bytesOf = (at: number, bytes: number) => new Uint8Array(memory.buffer, at, bytes);
    const isIntact = ({ at, bytes, fill }: (typeof blocks)[number]) => bytesOf(at, bytes).every((byte) => byte === fill);
    let [lowest, problems] = [Infinity, 0];
    for (let turn = 0; turn < 20_000; turn++) {
      const block = blocks[below(blocks.length + 1)];
      const bytes = size();
      if (!block || blocks.length < 40) {
        const at = malloc(bytes, 1 << below(5));
        const fill = below(256);
        bytesOf(at, bytes).fill(fill);
        blocks.push({ at, bytes, fill });
        lowest = Math.min(lowest, at);
        problems += at % 16;
      } else if (below(2) === 0) {
        const at = realloc(block.at, block.bytes, bytes, 1);
        problems += Number(!isIntact({ ...block, at, bytes: Math.min(bytes, block.bytes) }));
        bytesOf(at, bytes).fill(block.fill);
        Object.assign(block, { at, bytes });
        lowest = Math.min(lowest, at);
      } else {
        problems += Number(!isIntact(block));
        free(block.at, block.bytes, 1);
        blocks.splice(blocks.indexOf(block), 1);
      }
    }
    problems += blocks.filter((block) => !isIntact(block)).length;
    expect(problems).toBe(0);

    for (const { at, bytes } of blocks) free(at, bytes, 1);
    const all = memory.buffer.byteLength;
    expect(malloc(all - lowest, 16)).toBe(lowest);
    expect(memory.buffer.byteLength).toBe(all);
    // The last block grows where it is.
    expect(realloc(lowest, all - lowest, all - lowest + 1, 1)).toBe(lowest);
    expect(memory.buffer.byteLength).toBe(all + 65_536);
  });
});
