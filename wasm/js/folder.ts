import { wrapped, type EncoderGlue, type Reranker } from "./encoders.js";
import type { Engine, Reader } from "./engine.js";
import { NanoembedError, check, guarded } from "./errors.js";
import { pathOf, type Folder } from "./folders.js";
import { MAGIC_BYTES, familyOf } from "./formats.js";
import { bring, mostBytes, type LoadOptions } from "./load.js";
import { isLocal } from "./node.js";
import type { SentenceModel, SentenceOptions } from "./sentences.js";
import { MemorySink } from "./sink.js";
import { bodyOf, fetched, isAddress, isPage, limits, read, sizeOf, type Progress, type Source } from "./source.js";

/** Where the files of a folder come from. */
interface Files {
  /** A text; nothing if it is not there. */
  text(path: string): Promise<string | undefined>;
  /** Whether a file of weights is there. */
  has(path: string): Promise<boolean>;
  source(path: string): Source;
}

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

/** Loads the model in a folder: its texts, then its weights, each file in one piece of the module's memory. */
export async function loadFolder(
  engine: Engine<EncoderGlue>,
  folder: Folder,
  options: LoadOptions & SentenceOptions,
): Promise<SentenceModel | Reranker> {
  const { signal, onProgress, requantize } = options;
  if (requantize) throw new NanoembedError("unsupported_setting", "requantize: the weights of a folder are used as they are in its files");
  const most = mostBytes(options);
  limits(options);
  const files = !isAddress(folder) ? picked(folder) : isLocal(folder) ? await local(folder) : remote(String(folder), options);
  const [, ...usual] = await Promise.all([engine.ready(), ...USUAL.map(async (path) => [path, await files.text(path)] as const)]);
  if (usual.every(([, text]) => text === undefined)) {
    const where = isAddress(folder) ? String(folder) : "what was picked";
    throw new NanoembedError("missing_file", `${where} is no folder of a model: there is neither ${USUAL.join(", nor ")}`);
  }
  const parts = new engine.glue.Folder();
  try {
    for (const [path, text] of usual) parts.put(path, text);
    for (;;) {
      const path = guarded(() => parts.wanted());
      if (path === undefined) break;
      // Where there is an index, it is asked whether the weights are in one file all the same.
      const isWeights = path.endsWith(".safetensors");
      parts.put(path, isWeights ? ((await files.has(path)) ? "" : undefined) : await files.text(path));
      signal?.throwIfAborted();
    }
    let before = 0;
    for (const path of guarded(() => parts.files())) {
      let last = 0;
      const tell = ({ loaded, phase }: Progress) => {
        last = loaded;
        if (phase !== "ready") onProgress?.({ loaded: before + loaded, phase });
      };
      // What the limit leaves to this file: it is one of all.
      const left = { ...options, limits: { maxBytes: most - before }, onProgress: tell };
      const sink = await bring(files.source(path), () => new WeightsSink(engine), left);
      before += last;
      guarded(() => parts.push(path, sink.take()), () => "safetensors");
    }
    onProgress?.({ loaded: before, total: before, phase: "ready" });
  } catch (error) {
    parts.free();
    throw error;
  }
  return wrapped(guarded(() => engine.glue.Encoders.of_folder(parts), () => "safetensors"));
}

function remote(folder: string, options: LoadOptions): Files {
  const base = new URL(folder, globalThis.location?.href);
  const source = (path: string) => new URL(path, base);
  const left = (response: Response) => void response.body?.cancel().catch(() => {});
  // What is not there is a page of its own on some servers, with 200.
  const isMissing = (response: Response) =>
    response.status === 404 || response.status === 410 || (response.ok && isPage(response));
  return {
    source,
    async has(path) {
      // Signed addresses that servers lead to may take no HEAD.
      const response = await fetched(source(path), options.signal);
      left(response);
      return !isMissing(response);
    },
    async text(path) {
      const response = await fetched(source(path), options.signal);
      if (isMissing(response)) {
        left(response);
        return undefined;
      }
      const text = await bodyText(path, response, options.signal);
      return /^\s*<(?:!doctype|html)/i.test(text) ? undefined : text;
    },
  };
}

async function local(folder: string | URL): Promise<Files> {
  const { localFile, localUrl } = await import("./local-files.js");
  const base = localUrl(folder);
  const source = (path: string) => new URL(path, base);
  return {
    source,
    has: async (path) => (await localFile(source(path))) !== undefined,
    text: async (path) => textOf(path, await localFile(source(path))),
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
    has: async (path) => all.has(path),
    text: (path) => textOf(path, all.get(path)),
    source(path) {
      const file = all.get(path);
      if (file) return file;
      throw new NanoembedError("missing_file", `${path} is not among the files of the folder: it holds the weights`);
    },
  };
}

/** The text of an answer, which is refused as soon as it is known to be too large: a server need not say how large it is. */
async function bodyText(path: string, response: Response, signal: AbortSignal | undefined): Promise<string> {
  const decoder = new TextDecoder();
  let bytes = sizeOf(response) ?? 0;
  let text = "";
  let arrived = 0;
  for await (const piece of read(bodyOf(response).getReader(), signal)) {
    arrived += piece.length;
    bytes = Math.max(bytes, arrived);
    if (bytes > MOST_TEXT_BYTES) throw tooLarge(path);
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}

/** The text in a file, if that is there. */
async function textOf(path: string, file: Blob | undefined): Promise<string | undefined> {
  if (file && file.size > MOST_TEXT_BYTES) throw tooLarge(path);
  return file?.text();
}

const tooLarge = (path: string) => new NanoembedError("too_large", `${path} has more than ${MOST_TEXT_BYTES} bytes`);
