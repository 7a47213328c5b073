// Files that somebody picks or drops, those in folders included.

/** A file, and where it lies in what was given. */
export interface Given {
  path: string;
  file: File;
}

/** The files that were chosen. */
export const chosen = (files: Iterable<File>): Given[] =>
  Array.from(files, (file) => ({ path: file.webkitRelativePath || file.name, file }));

/** The files that were dropped. */
export async function dropped(given: DataTransfer): Promise<Given[]> {
  // All at once: they are gone when the event is over.
  const entries = Array.from(given.items, (item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const found: Given[] = [];
  for (const entry of entries) await collect(entry, found);
  return found;
}

async function collect(entry: FileSystemEntry, found: Given[]): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    found.push({ path: entry.fullPath.replace(/^\//, ""), file });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  // A reader gives some at a time, and none at the end.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const each of some) await collect(each, found);
  }
}

/** As large as a text may be. */
const MOST_BYTES = 4_000_000;

/** What a file says; nothing if it is no text, or too large for one. */
export async function textOf({ file }: Given): Promise<string | undefined> {
  if (file.size > MOST_BYTES || (await file.slice(0, 8192).text()).includes("\0")) return undefined;
  return file.text();
}
