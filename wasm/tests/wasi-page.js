// The calls of WASI that a Rust test program makes, for a page.
class Exit {
  constructor(code) {
    this.code = code;
  }
}

/** Runs a program; its exit code and all that it wrote. */
export async function run(bytes, args) {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const list = args.map((argument) => encoder.encode(`${argument}\0`));
  let memory;
  let text = "";
  const view = () => new DataView(memory.buffer);
  const calls = {
    args_sizes_get(count, size) {
      view().setUint32(count, list.length, true);
      view().setUint32(size, list.reduce((sum, argument) => sum + argument.length, 0), true);
      return 0;
    },
    args_get(pointers, buffer) {
      list.forEach((argument, at) => {
        view().setUint32(pointers + 4 * at, buffer, true);
        new Uint8Array(memory.buffer).set(argument, buffer);
        buffer += argument.length;
      });
      return 0;
    },
    environ_sizes_get(count, size) {
      view().setUint32(count, 0, true);
      view().setUint32(size, 0, true);
      return 0;
    },
    environ_get: () => 0,
    fd_write(_, pieces, count, written) {
      let total = 0;
      for (let at = pieces; at < pieces + 8 * count; at += 8) {
        const length = view().getUint32(at + 4, true);
        text += decoder.decode(new Uint8Array(memory.buffer, view().getUint32(at, true), length));
        total += length;
      }
      view().setUint32(written, total, true);
      return 0;
    },
    clock_time_get(_, __, out) {
      view().setBigUint64(out, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    },
    random_get(address, length) {
      crypto.getRandomValues(new Uint8Array(memory.buffer, address, length));
      return 0;
    },
    proc_exit(code) {
      throw new Exit(code);
    },
  };
  const BAD_FILE = 8;
  const imports = { wasi_snapshot_preview1: new Proxy(calls, { get: (known, name) => known[name] ?? (() => BAD_FILE) }) };
  const { instance } = await WebAssembly.instantiate(bytes, imports);
  memory = instance.exports.memory;
  try {
    instance.exports._start();
    return { code: 0, text };
  } catch (error) {
    return error instanceof Exit ? { code: error.code, text } : { code: 255, text: text + error };
  }
}
