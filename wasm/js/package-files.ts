// The package's files beside its JavaScript, where tools that move the JavaScript leave them.
import { builtin } from "./node.js";
import { original } from "./vite.js";

interface Resolver {
  createRequire(from: string): { resolve(name: string): string };
}

/** Where the package's file lies whose address is made of that of moved JavaScript; nothing if that is not known. */
export function packageFile(beside: URL | undefined): URL | undefined {
  const address = String(beside);
  const name = /nanoembed[a-z-]*(?=[^/]*\.wasm$)/.exec(address)?.[0];
  if (!name) return undefined;
  const there = original(address);
  if (there) return new URL(there);
  // Code that was bundled for Node runs where the package is installed, as a rule.
  const modules = builtin<Resolver>("node:module");
  if (!modules) return undefined;
  const { cwd } = (globalThis as unknown as { process: { cwd(): string } }).process;
  try {
    const path = modules.createRequire(`${cwd()}/`).resolve(`nanoembed/${name}.wasm`);
    return builtin<{ pathToFileURL(path: string): URL }>("node:url")!.pathToFileURL(path);
  } catch {
    return undefined;
  }
}

const REMEDY =
  "esbuild and Rollup leave .wasm files behind: copy them from node_modules/nanoembed/dist beside the JavaScript, or import " +
  "nanoembed/inline, or say with init() where they are. In Cloudflare Workers: " +
  'import module_or_path from "nanoembed/nanoembed.wasm"; await init({ module_or_path })';

/** Whether this is a Node that gives none of its own modules to code which runs in browsers, too: files cannot be read in it. */
export function isOldNode(): boolean {
  const { process } = globalThis as { process?: { versions?: { node?: string }; getBuiltinModule?: unknown } };
  return process?.versions?.node !== undefined && process.getBuiltinModule === undefined;
}

/** What is said in such a Node. */
export const NEWER_NODE = "nanoembed reads files in Node 20.16, 22.3 and later";

/** Throws why a module was not found, and says what to do about it. */
export function withRemedy(cause: unknown): never {
  // Of an old Node the cause says it.
  throw new Error(isOldNode() ? String(cause) : `${String(cause)}: ${REMEDY}`, { cause });
}
