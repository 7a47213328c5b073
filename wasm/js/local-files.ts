import { NanoembedError } from "./errors.js";
import { builtin } from "./node.js";

interface Files {
  openAsBlob(path: string | URL): Promise<Blob>;
  statSync(path: string | URL): { isDirectory(): boolean; isFile(): boolean };
}

/** The address of a file or a folder in Node's file system. */
export function localUrl(address: string | URL): URL {
  const text = String(address);
  if (text.startsWith("file:")) return new URL(text);
  const url = builtin<{ pathToFileURL(path: string): URL }>("node:url")!.pathToFileURL(text);
  return text.endsWith("/") && !url.pathname.endsWith("/") ? new URL(`${url.href}/`) : url;
}

/** A file that stays where it is; `undefined` if it is not there. */
export async function localFile(address: string | URL): Promise<Blob | undefined> {
  const { openAsBlob, statSync } = builtin<Files>("node:fs")!;
  const url = localUrl(address);
  let isFolder: boolean;
  try {
    const there = statSync(url);
    // Pipes and devices would be waited for where nobody can stop it.
    if (there.isFile()) return await openAsBlob(url);
    isFolder = there.isDirectory();
  } catch (cause) {
    const { code } = cause as { code?: string };
    // So it is called, too, if it is not there.
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ERR_INVALID_ARG_VALUE") return undefined;
    throw new NanoembedError("missing_file", `${String(address)} cannot be read: ${String(cause)}`, { cause });
  }
  const why = isFolder ? "a folder: the address of a model's folder ends with /" : "no regular file";
  throw new NanoembedError("missing_file", `${url.pathname} is ${why}`);
}

/** A file that has to be there. */
export async function neededFile(address: string | URL): Promise<Blob> {
  const file = await localFile(address);
  if (file) return file;
  throw new NanoembedError("missing_file", `${localUrl(address).pathname}: no such file`);
}
