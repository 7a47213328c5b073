// What programs with a file system keep segments in: files of a folder, which one program at a time has open.
import { NanoembedError } from "./errors.js";
import type { Store } from "./index-store.js";
import { builtin } from "./node.js";
import { queue } from "./queue.js";

interface FileHandle {
  writeFile(data: Uint8Array | string): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

interface Files {
  mkdirSync(path: string, options: { recursive: true }): void;
  readFileSync(path: string, encoding: "utf8"): string;
  writeFileSync(path: string, data: string, options: { flag: "wx" }): void;
  readdirSync(path: string): string[];
  renameSync(from: string, to: string): void;
  rmSync(path: string, options: { force: true }): void;
  promises: {
    open(path: string, flags: string): Promise<FileHandle>;
    readFile(path: string): Promise<Uint8Array>;
    rename(from: string, to: string): Promise<void>;
  };
}

interface Process {
  pid: number;
  uptime(): number;
  kill(pid: number, signal: 0): void;
}

/** Who has a folder open. */
interface Holder {
  pid: number;
  host: string;
  /** Seconds since 1970 at which the process began, more or less: numbers of processes come again. */
  started: number;
}

const LOCK = "in-use.json";
/** The endings of a segment, and of one that is being written. */
const SEGMENT = ".segment";
const PART = ".part";

/** A file a segment. */
export async function inFolder(path: string): Promise<Store> {
  const files = builtin<Files>("node:fs")!;
  const { join } = builtin<{ join(...parts: string[]): string }>("node:path")!;
  files.mkdirSync(path, { recursive: true });
  const lock = join(path, LOCK);
  take(files, lock, path);
  const file = (name: string) => join(path, name + SEGMENT);
  const remove = (path: string) => files.rmSync(path, { force: true });
  // Of a program that was killed.
  files.readdirSync(path).filter((name) => name.endsWith(SEGMENT + PART)).forEach((name) => remove(join(path, name)));
  let writing: Promise<void> = Promise.resolve();
  const write = async (name: string, bytes: Uint8Array) => {
    const part = file(name) + PART;
    try {
      await writeSynced(files, part, bytes);
      await files.promises.rename(part, file(name));
      await syncFolder(files, path);
    } catch (cause) {
      remove(part);
      throw new NanoembedError("write_failed", `the index could not be written: ${String(cause)}; what was added before is there`, { cause });
    }
  };
  return {
    names: async () => files.readdirSync(path).filter((name) => name.endsWith(SEGMENT)).map((name) => name.slice(0, -SEGMENT.length)),
    read: (name) => files.promises.readFile(file(name)),
    write(name, bytes) {
      const written = write(name, bytes);
      writing = written.catch(() => {});
      return written;
    },
    remove: async (names) => names.forEach((name) => remove(file(name))),
    // Nobody else has the folder.
    locked: queue(),
    tell() {},
    onTold() {},
    // What is being written is the last that this program does there.
    close: () => void writing.then(() => remove(lock)),
  };
}

/** Takes the folder, unless another program has it, or another part of this one. */
function take(files: Files, lock: string, path: string): void {
  const own = JSON.stringify(self());
  for (let isFirst = true; ; isFirst = false) {
    try {
      return files.writeFileSync(lock, own, { flag: "wx" });
    } catch (cause) {
      if ((cause as { code?: string }).code !== "EEXIST") throw cause;
    }
    const there = files.readFileSync(lock, "utf8");
    const holder = holderOf(there);
    if (!isFirst || !holder || !hasEnded(holder)) {
      const who = holder ? `process ${holder.pid} on ${holder.host}` : "another program";
      throw new NanoembedError("store_in_use", `the index in ${path} is open in ${who}: close it there first, or remove ${lock} if it is not`);
    }
    putAside(files, lock, there);
  }
}

/** Removes a lock that says what is `known`; one that another program has taken meanwhile is put back. */
function putAside(files: Files, lock: string, known: string): void {
  const aside = `${lock}.${program().pid}`;
  files.renameSync(lock, aside);
  if (files.readFileSync(aside, "utf8") === known) files.rmSync(aside, { force: true });
  else files.renameSync(aside, lock);
}

const program = (): Process => (globalThis as unknown as { process: Process }).process;

function self(): Holder {
  const { pid, uptime } = program();
  return { pid, host: builtin<{ hostname(): string }>("node:os")!.hostname(), started: Math.round(Date.now() / 1000 - uptime()) };
}

function holderOf(text: string): Holder | undefined {
  try {
    const { pid, host, started } = JSON.parse(text) as Partial<Holder>;
    return Number.isInteger(pid) && typeof host === "string" && typeof started === "number" ? { pid: pid!, host, started } : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a process is known to have ended. */
function hasEnded(holder: Holder): boolean {
  const own = self();
  if (holder.host !== own.host) return false;
  if (holder.pid === own.pid) return Math.abs(holder.started - own.started) > 2;
  try {
    program().kill(holder.pid, 0);
    return false;
  } catch (cause) {
    return (cause as { code?: string }).code === "ESRCH";
  }
}

async function writeSynced(files: Files, path: string, bytes: Uint8Array): Promise<void> {
  const file = await files.promises.open(path, "w");
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** So that a file's name is there after a crash, too; not all systems can. */
async function syncFolder(files: Files, path: string): Promise<void> {
  const folder = await files.promises.open(path, "r").catch(() => undefined);
  await folder?.sync().catch(() => {});
  await folder?.close();
}
