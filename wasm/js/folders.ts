// Which sources are folders: asked before any code for folders is loaded.
import { check } from "./errors.js";
import type { Platform } from "./platform.js";
import { isAddress, type Source } from "./source.js";

/** A Hugging Face folder: its address, which ends with `/`, or the files that somebody has picked. */
export type Folder = string | Platform<"URL"> | readonly Platform<"File">[] | Platform<"FileList">;

/** Whether a source is a folder. */
export function isFolder(source: Source | Folder): source is Folder {
  if (isAddress(source)) return /^[^?#]*\/(?:[?#]|$)/.test(String(source));
  return (typeof FileList === "function" && source instanceof FileList) || (Array.isArray(source) && source[0] instanceof Blob);
}

/** A file's path within the folder that was picked. */
export function pathOf(file: File): string {
  check(typeof file.name === "string", "a folder's files need names");
  const path = file.webkitRelativePath;
  return path ? path.slice(path.indexOf("/") + 1) : file.name;
}
