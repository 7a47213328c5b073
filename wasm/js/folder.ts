import { allowed, wrapped, type EncoderGlue, type Reranker } from "./encoders.js";
import type { Engine, Reader } from "./engine.js";
import { NanoembedError, check, guarded } from "./errors.js";
import { pathOf, type Folder } from "./folders.js";
import { MAGIC_BYTES, familyOf } from "./formats.js";
import { NEWER_NODE, isOldNode } from "./package-files.js";
import { allowanceOf, bring, bringIfThere, type LoadOptions } from "./load.js";
import { isLocal } from "./node.js";
import type { SentenceModel, SentenceOptions } from "./sentences.js";
import { either } from "./signals.js";
import { MemorySink, type Sink } from "./sink.js";
import {
  begun, end, following, isAddress, isPage, limits, pieces, unlessAborted, type FetchOptions, type Pieces, type Progress, type Source,
} from "./source.js";

/** Where the files of a folder come from. */
interface Files {
  /** Where a file is; nothing if it is not among those that were picked. */
  source(path: string): Source | undefined;
  /** The bytes of a file; nothing if it is not there. */
  begin(path: string, options: FetchOptions): Promise<Pieces | undefined>;
}

/** How a folder is loaded, and what it has to hold. */
type FolderOptions = LoadOptions & SentenceOptions & { kind?: string };

/** The texts of a folder by their paths; nothing for those that are not there. */
export type FolderTexts = Map<string, string | undefined>;

/** Texts that most folders have: they are fetched at once. What else is wanted, the module asks for. */
const USUAL = [
  "config.json", "tokenizer.json", "tokenizer_config.json", "modules.json", "sentence_bert_config.json",
  "1_Pooling/config.json", "config_sentence_transformers.json", "model.safetensors.index.json",
  "adapter_config.json",
];

/** Bytes of a text at most, as everywhere. */
const MOST_TEXT_BYTES = 1 << 27;

/** Says of a page that came in place of the weights that it is one. */
class WeightsSink extends MemorySink<Reader> {
  #isFirst = true;

  override write(piece: Uint8Array): void {
    if (this.#isFirst && piece.length >= MAGIC_BYTES) familyOf(piece);
    this.#isFirst = false;
    super.write(piece);
  }
}

/** Makes a text of what arrives. */
class TextSink implements Sink {
  readonly #decoder = new TextDecoder();
  #text = "";
  #bytes = 0;

  reserve(bytes: number): void {
    if (bytes > MOST_TEXT_BYTES) throw new NanoembedError("too_large", `a text has more than ${MOST_TEXT_BYTES} bytes`);
  }

  write(piece: Uint8Array): void {
    this.#bytes += piece.length;
    this.reserve(this.#bytes);
    this.#text += this.#decoder.decode(piece, { stream: true });
  }

  finish(): void {
    this.#text += this.#decoder.decode();
  }

  /** The text; nothing if it is a page that some servers have in place of files that are not there. */
  get text(): string | undefined {
    return /^\s*<(?:!doctype|html)/i.test(this.#text) ? undefined : this.#text;
  }

  bytes(): Uint8Array {
    return new TextEncoder().encode(this.#text);
  }

  abort(): void {
    this.#text = "";
  }
}

/** Loads the model in a folder: its texts, then its weights, each file in one piece of the module's memory. */
export async function loadFolder(
  engine: Engine<EncoderGlue>,
  folder: Folder,
  options: FolderOptions,
): Promise<SentenceModel | Reranker> {
  if (options.requantize) throw new NanoembedError("unsupported_setting", "requantize: the weights of a folder are used as they are in its files");
  allowed(options);
  limits(options);
  // What is under way ends with whatever fails.
  const attempt = async (texts: FolderTexts) => {
    const failed = new AbortController();
    try {
      return await brought(engine, folder, options, texts, failed.signal);
    } catch (error) {
      failed.abort();
      throw error;
    }
  };
  if (!options.cache || !isAddress(folder) || isLocal(folder)) return attempt(new Map());
  const { throughKeptTexts } = await import("./text-copies.js");
  return throughKeptTexts(options.cache, String(folder), attempt, options.signal);
}

async function brought(
  engine: Engine<EncoderGlue>,
  folder: Folder,
  options: FolderOptions,
  texts: FolderTexts,
  failed: AbortSignal,
): Promise<SentenceModel | Reranker> {
  const { onProgress, retries, stall, signal = new AbortController().signal } = options;
  // Each file has a signal of its own: Node warns of one that many listen to.
  const fetching = () => ({
    signal: either(failed, signal), ...(retries !== undefined && { retries }), ...(stall !== undefined && { stall }),
  });
  const allowance = allowanceOf(options, "the folder");
  for (const kept of texts.values()) allowance.left -= kept?.length ?? 0;
  const files = !isAddress(folder) ? picked(folder) : isLocal(folder) ? await local(folder) : remote(folder);
  const fetchedText = async (path: string) => {
    const own = fetching();
    const sink = await bringIfThere(files.source(path), () => files.begin(path, own), () => new TextSink(), { ...own, allowance });
    return sink?.text;
  };
  // Signed addresses that servers lead to may take no HEAD.
  const presence = async (path: string) => {
    const file = await files.begin(path, fetching());
    file?.close?.();
    return file && "";
  };
  /** A text; of weights any says that they are there. */
  const text = async (path: string) => {
    if (!texts.has(path)) texts.set(path, await (path.endsWith(".safetensors") ? presence : fetchedText)(path));
    return texts.get(path);
  };
  const taken = Promise.all(USUAL.map(async (path) => [path, await text(path)] as const));
  const [usual] = await Promise.all([taken, unlessAborted(engine.ready(), signal)]);
  if (usual.every(([, text]) => text === undefined)) {
    const where = isAddress(folder) ? String(folder) : "what was picked";
    throw new NanoembedError("missing_file", `${where} is no folder of a model: there is neither ${USUAL.join(", nor ")}`);
  }
  const parts = new engine.glue.Folder();
  try {
    for (const name of allowed(options)) parts.allow(name);
    for (const [path, text] of usual) parts.put(path, text);
    for (;;) {
      const path = guarded(() => parts.wanted());
      if (path === undefined) break;
      // Where there is an index, it is asked whether the weights are in one file all the same.
      parts.put(path, await text(path));
      signal.throwIfAborted();
    }
    let before = 0;
    const paths = guarded(() => parts.files());
    const all = onProgress && paths.length > 1 ? await sizeOfAll(paths, (path) => files.begin(path, fetching())) : undefined;
    for (const path of paths) {
      let last = 0;
      const tell = ({ loaded, total, phase }: Progress) => {
        last = loaded;
        if (phase !== "ready") onProgress?.({ loaded: before + loaded, total: paths.length > 1 ? all : total, phase });
      };
      const source = files.source(path);
      if (!source) throw new NanoembedError("missing_file", `${path} is not among the files of the folder: it holds the weights`);
      const sink = await bring(source, () => new WeightsSink(engine, allowance.left), { ...options, ...fetching(), allowance, onProgress: tell });
      before += last;
      guarded(() => parts.push(path, sink.take()), () => "safetensors");
    }
    onProgress?.({ loaded: before, total: before, phase: "ready" });
  } catch (error) {
    parts.free();
    throw error;
  }
  const warnings = parts.warnings();
  return wrapped(guarded(() => engine.glue.TextModel.from_folder(parts), () => "safetensors"), warnings, options.kind);
}

/** How many bytes files have together, where that is known: of those that are kept there may be no network to ask. */
async function sizeOfAll(paths: string[], begin: (path: string) => Promise<Pieces | undefined>): Promise<number | undefined> {
  const sizes = await Promise.all(paths.map(async (path) => {
    const file = await begin(path).catch(() => undefined);
    file?.close?.();
    return file?.size;
  }));
  return sizes.reduce((sum, size) => (sum === undefined || size === undefined ? undefined : sum + size), 0);
}

/**
 * The address of a file of a folder. Files name others, and whoever made them may have wanted to lead elsewhere: a name is only ever
 * one within the folder, whatever it would mean as an address.
 */
export function addressWithin(folder: URL, path: string): URL {
  const inner = new URL(`./${path.split("/").map(encodeURIComponent).join("/")}`, folder);
  if (inner.href.startsWith(new URL(".", folder).href)) return inner;
  throw new NanoembedError("bad_metadata", `"${path}" is no path within the folder ${folder.href}`);
}

/** Redirects are followed: the server that the caller has named may send to others for its files, as hubs do. Names may not. */
function remote(folder: string | URL): Files {
  let base: URL;
  try {
    base = new URL(folder, globalThis.location?.href);
    addressWithin(base, "config.json");
  } catch (cause) {
    const why = isOldNode() ? `: ${NEWER_NODE}` : "";
    throw new NanoembedError("invalid_argument", `${String(folder)} is no address of a folder${why}`, { cause });
  }
  const source = (path: string) => addressWithin(base, path);
  return {
    source,
    async begin(path, options) {
      const address = source(path);
      const first = await begun(address, options);
      const { status, ok } = first.response;
      // What is not there is a page of its own on some servers, with 200.
      if (status !== 404 && status !== 410 && !(ok && isPage(first.response))) return following(first, address, options);
      end(first);
      return undefined;
    },
  };
}

async function local(folder: string | URL): Promise<Files> {
  const { localFile, localUrl } = await import("./local-files.js");
  const base = localUrl(folder);
  const source = (path: string) => addressWithin(base, path);
  return {
    source,
    async begin(path, options) {
      const file = await localFile(source(path));
      return file && pieces(file, options);
    },
  };
}

function picked(files: readonly File[] | FileList): Files {
  const all = new Map<string, File>();
  for (const file of files) {
    const path = pathOf(file);
    check(!all.has(path), `two files are called ${path}: they need their places, as \`webkitRelativePath\` or the name has them`);
    all.set(path, file);
  }
  return {
    source: (path) => all.get(path),
    async begin(path, options) {
      const file = all.get(path);
      return file && pieces(file, options);
    },
  };
}
