/** A module of Node's own, where there are any. */
export function builtin<M>(name: string): M | undefined {
  const get = (globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } }).process?.getBuiltinModule;
  return get?.(name) as M | undefined;
}

/** Whether an address is that of a file which Node reads: a `file:` URL, or a path. */
export function isLocal(address: string | URL): boolean {
  const text = String(address);
  const isPath = globalThis.location === undefined && !/^[a-z][a-z0-9+.-]+:/i.test(text);
  return (isPath || text.startsWith("file:")) && builtin("node:fs") !== undefined;
}
