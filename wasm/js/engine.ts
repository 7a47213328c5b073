import { NanoembedError } from "./errors.js";
import { builtin } from "./node.js";
import type { CompiledModule, Platform } from "./platform.js";
import { begun, end, isPage, read, type Attempt } from "./source.js";

/** Where a module can come from instead of the package's own file. */
export type ModuleSource =
  | string
  | Platform<"URL">
  | Platform<"Request">
  | Platform<"Response">
  | ArrayBuffer
  | ArrayBufferView
  | CompiledModule;

export interface InitOptions {
  /** The module: its address, a response, its bytes, or itself compiled. */
  module_or_path: ModuleSource | Promise<ModuleSource>;
}

/** Reads a file inside the module. */
export interface Reader {
  reserve(bytes: number): void;
  room(bytes: number): number;
  advance(): void;
  finish(): void;
  wanted(): number;
  file_bytes(): number;
  format(): string | undefined;
  free(): void;
}

/** The same of a file that is read in parts. */
export interface PartsReader extends Reader {
  /** Whether the whole file has been seen as far as the purpose asks. */
  complete(): boolean;
  /** How many bytes are wanted next at least. */
  at_least(): number;
}

/** Reads a file inside a module that runs models. */
export interface ModelReader extends Reader {
  /** Whether the file that was read is for the module for encoders of all families. Those for others have this. */
  needs_encoders?(): boolean;
}

/** Reads a file inside the module for sentence models. */
export interface SentenceReader extends ModelReader {
  /** Whether the file is for the module for causal models; `undefined` before that is known. */
  holds_decoder(): boolean | undefined;
}

/** Reads a file inside a module that inspects. */
export interface InspectReader extends PartsReader {
  report(): string;
}

/** What wasm-bindgen generates for every module, as the build cuts it. */
export interface AnyGlue {
  /** Of a module for threads, with the memory that they share, or a new one. */
  imports(memory?: WebAssembly.Memory): WebAssembly.Imports;
  /** Of such a module, with the size of the thread's stack, where that is not the first one's. */
  start(instance: WebAssembly.Instance, module: WebAssembly.Module, stackBytes?: number): unknown;
}

/** What it generates for modules that read files. */
export interface Glue extends AnyGlue {
  Reader: new (purpose: number, strict: boolean, length: number) => Reader;
}

/** What it generates for the module that inspects. */
export interface InspectGlue extends Glue {
  Reader: new (purpose: number, strict: boolean, length: number) => InspectReader;
}

/** What a reader does with a file. */
export const Purpose = { Load: 0, Open: 1, Inspect: 2, Verify: 3 } as const;

/** A module that is loaded at most once, when it is first needed. */
export class Engine<out G extends AnyGlue> {
  readonly #make: () => unknown;
  #glue: G | undefined;
  #locate: () => ModuleSource;
  #ready: Promise<this> | undefined;
  /** Where it was said to be: also after it could not be loaded from there. */
  #given: InitOptions["module_or_path"] | undefined;
  #memory: WebAssembly.Memory | undefined;

  /** `make` gives the glue, `locate` says where the module is unless `ready` is told otherwise. */
  constructor(make: () => unknown, locate: () => ModuleSource) {
    this.#make = make;
    this.#locate = locate;
  }

  get glue(): G {
    return (this.#glue ??= this.#make() as G);
  }

  /** Loads the module; later calls wait for the first. After a failure the next call tries again. */
  ready(options?: InitOptions): Promise<this> {
    this.#given = options?.module_or_path ?? this.#given;
    this.#ready ??= this.#load().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #load(): Promise<this> {
    try {
      const given = await this.#given;
      const source = given ? await opened(given) : await this.#own();
      const { instance, module } = await instantiate(source, this.glue.imports());
      this.glue.start(instance, module);
      this.#memory = instance.exports["memory"] as WebAssembly.Memory;
      memories.push(this.#memory);
    } catch (cause) {
      throw new NanoembedError("module_not_loaded", `the WebAssembly module could not be loaded: ${String(cause)}`, {
        cause,
      });
    }
    return this;
  }

  /** The package's own file: beside its code, or where tools leave it that move the code alone. */
  async #own(): Promise<Opened> {
    let beside: ModuleSource | undefined;
    try {
      beside = this.#locate();
      return await opened(beside);
    } catch (cause) {
      const { packageFile, withRemedy } = await import("./package-files.js");
      const elsewhere = packageFile(beside as URL | undefined);
      return (elsewhere && (await opened(elsewhere).catch(() => {}))) || withRemedy(cause);
    }
  }

  /** Bytes of the module's memory, to be used before the next call into it. */
  view(address: number, bytes: number): Uint8Array {
    return new Uint8Array(this.#memory!.buffer, address, bytes);
  }
}

const memories: WebAssembly.Memory[] = [];

/** The size of the memory of all modules that were loaded. */
export const memoryBytes = (): number => memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);

/** What a module is made of, once it has been found. */
type Opened = Response | BufferSource | WebAssembly.Module;

async function instantiate(source: Opened, imports: WebAssembly.Imports): Promise<WebAssembly.WebAssemblyInstantiatedSource> {
  if (source instanceof WebAssembly.Module) return { instance: await WebAssembly.instantiate(source, imports), module: source };
  if (!(source instanceof Response)) return WebAssembly.instantiate(source, imports);
  // Compiled as it arrives, if the server says what it is.
  return source.headers.get("content-type") === "application/wasm"
    ? WebAssembly.instantiateStreaming(source, imports)
    : WebAssembly.instantiate(await source.arrayBuffer(), imports);
}

async function opened(source: ModuleSource): Promise<Opened> {
  const address = typeof source === "string" ? source : source instanceof URL ? source.href : "";
  // Node's `fetch` does not read files.
  const files = address.startsWith("file:")
    ? builtin<{ readFile(path: URL): Promise<Uint8Array<ArrayBuffer>> }>("node:fs/promises") : undefined;
  if (files) return files.readFile(new URL(address));
  const first = address || source instanceof Request ? await begun(source as string | URL | Request, {}) : undefined;
  const found = first?.response ?? (source as Opened);
  if (!(found instanceof Response)) return found;
  if (found.ok && !isPage(found)) {
    if (first) void arrived(first);
    return found;
  }
  if (first) end(first);
  throw new Error(`${found.url} ${isPage(found) ? "is a web page" : `answered ${found.status}`}`);
}

/** Watches an answer as it arrives, while it is compiled. */
async function arrived(first: Attempt): Promise<void> {
  try {
    for await (const _ of read(first.response.clone().body!.getReader(), first));
  } catch {
    // Whoever reads the answer itself hears of it.
  }
  first.done();
}

// (module (func (export "f") (result i32) i8x16.splat(−1) · i8x16.splat(1), relaxed, + 0, lane 0)): −4 where the
// instruction is there and takes the first operand as signed.
const RELAXED =
  "AGFzbQEAAAABBQFgAAF/AwIBAAcFAQFmAAAKFgEUAEF//Q9BAf0PQQD9Ef2TAv0bAAs=";

/** Whether relaxed SIMD is there and does what is asked of it. */
export function hasRelaxedSimd(): boolean {
  try {
    const bytes = Uint8Array.from(atob(RELAXED), (character) => character.charCodeAt(0));
    const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes));
    return (instance.exports["f"] as () => number)() === -4;
  } catch {
    return false;
  }
}
