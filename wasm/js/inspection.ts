import { Purpose, type AnyGlue, type Engine, type InspectGlue, type InspectReader } from "./engine.js";
import { NanoembedError, checkNames, fromModule, guarded } from "./errors.js";
import { MAGIC_BYTES, familyOf, joined } from "./formats.js";
import { parts, readIndex, startOf, type Parts } from "./parts.js";
import type { Platform } from "./platform.js";
import { FETCH, located, pieces, unlessAborted, type FetchOptions, type Progress, type Source } from "./source.js";

/** A tensor as the file's index describes it. */
export interface TensorInfo {
  name: string;
  /** `f32`, `f16`, `i8`, `q4_k` … */
  dtype: string;
  /** Dimensions, outermost first. */
  shape: number[];
  /** The first byte in the file. */
  offset: number;
  bytes: number;
}

/** A value of a file's metadata: of an array, its length and its first elements. */
export type MetadataValue = string | number | boolean | null | { count: number; first: MetadataValue[] };

/** What a file says of itself. */
export interface FileSummary {
  /** `amb`, `embd`, `finalfusion`, `gguf`, `safetensors` or `uqff`. */
  format: string;
  variant: string;
  version: [number, number];
  /** The size of the file, where it is known. */
  fileBytes: number | undefined;
  /** How many bytes were read to tell all this. */
  bytesRead: number;
  metadata: Record<string, MetadataValue>;
  /** Metadata in the file's own language: TOML in finalfusion files, JSON in AMB files. */
  document?: string;
  /** The model's sizes in the file's own language: JSON in AMB files. */
  configuration?: string;
  /** How many tokens or words the vocabulary has. */
  tokens: number;
  /** How many n-grams it lists. */
  ngrams: number;
  /** The ids of special tokens by role. */
  special: Record<string, number>;
  /** Of word vectors: how missing words are spelled. */
  vocabulary?: { kind: string; words: number; minN: number; maxN: number };
  /** In file order. */
  tensors: TensorInfo[];
  /** Of UQFF 0.x: what each layer's own header says. */
  layers: Record<string, unknown>[];
}

/** A file whose header and index were read. */
export interface Inspection extends FileSummary {
  /**
   * The elements of a tensor as numbers, row by row: `count` from `first` on, all by default. Quantised types are
   * dequantised, 8-bit matrices multiplied with their scales. Of a UQFF file also whole layers can be asked for.
   */
  values(name: string, options?: { first?: number; count?: number; signal?: Platform<"AbortSignal"> }): Promise<Float32Array>;
}

export interface InspectOptions extends FetchOptions {
  /** Refuses harmless deviations from the format too. */
  strict?: boolean;
}

export interface VerifyOptions extends InspectOptions {
  onProgress?: (progress: Progress) => void;
}

/** Whether a file is whole. */
export type Verdict =
  | { ok: true; format: string; bytes: number }
  | { ok: false; format: string | undefined; bytes: number; error: NanoembedError };

/** What the module that dequantises can do. */
export interface ValuesGlue extends AnyGlue {
  block(dtype: string): number;
  dequantize(dtype: string, data: Uint8Array, count: number): Float32Array;
  layer_elements(file: Uint8Array, name: string): number;
  dequantize_layer(file: Uint8Array, name: string, first: number, count: number): Float32Array;
}

/** The module that reads headers and indices. */
export type Inspector = () => Promise<Engine<InspectGlue>>;

/** The module that dequantises. */
export type Numbers = () => Promise<Engine<ValuesGlue>>;

export async function inspectWith(
  inspector: Inspector,
  numbers: Numbers,
  source: Source,
  options: InspectOptions = {},
): Promise<Inspection> {
  checkNames<keyof InspectOptions>(options, { ...FETCH, strict: true });
  let file: Parts | undefined;
  try {
    file = await parts(source, options);
    return await inspectParts(inspector, numbers, file, options);
  } catch (error) {
    file?.close();
    throw located(error, source);
  }
}

async function inspectParts(inspector: Inspector, numbers: Numbers, file: Parts, options: InspectOptions): Promise<Inspection> {
  let bytesRead = 0;
  const counted: Parts = {
    size: file.size,
    async read(offset, bytes, signal) {
      const read = await file.read(offset, bytes, signal);
      bytesRead += read.length;
      return read;
    },
    close: () => file.close(),
  };
  const start = await startOf(counted, options.signal);
  familyOf(start);
  const engine = await unlessAborted(inspector(), options.signal);
  const reader = new engine.glue.Reader(Purpose.Inspect, options.strict ?? false, file.size ?? -1);
  try {
    await readIndex(engine, reader, counted, options.signal, start);
    const { dataOffset, ...summary } = JSON.parse(reader.report()) as FileSummary & { dataOffset: number };
    for (const tensor of summary.tensors) tensor.offset += dataOffset;
    summary.fileBytes = file.size;
    summary.bytesRead = bytesRead;
    if (Object.keys(summary.vocabulary ?? {}).length === 0) delete summary.vocabulary;
    const values: Inspection["values"] = (name, wanted = {}) =>
      valuesOf(numbers, file, summary, name, wanted);
    return Object.assign(summary, { values });
  } catch (error) {
    throw withFormat(error, reader.format());
  } finally {
    reader.free();
  }
}

function withFormat(error: unknown, format: string | undefined): unknown {
  if (!(error instanceof NanoembedError) || error.format !== undefined || format === undefined) return error;
  const { code, message, offset, cause } = error;
  return new NanoembedError(code, message, { ...(offset === undefined ? {} : { offset }), format, cause });
}

interface Wanted {
  first?: number;
  count?: number;
  signal?: AbortSignal;
}

async function valuesOf(
  numbers: Numbers,
  file: Parts,
  summary: FileSummary,
  name: string,
  wanted: Wanted,
): Promise<Float32Array> {
  checkNames<keyof Wanted>(wanted, { first: true, count: true, signal: true });
  const { first = 0, count, signal } = wanted;
  const engine = await unlessAborted(numbers(), signal);
  const tensor = summary.tensors.find((candidate) => candidate.name === name);
  if (summary.format === "uqff" && (!tensor || tensor.dtype === "u8" || summary.tensors.some((t) => t.name === `${layerOf(name)}.weight.format`))) {
    const layer = await layerFile(file, summary, name, signal);
    if (layer) return layerValues(engine, layer, { first, ...(count === undefined ? {} : { count }) });
  }
  if (!tensor) throw new NanoembedError("missing_tensor", `there is no tensor ${name}`, { format: summary.format });
  const elements = tensor.shape.reduce((product, dim) => product * dim, 1);
  const many = count ?? elements - first;
  if (!(first >= 0 && many >= 0 && first + many <= elements)) {
    throw new NanoembedError("invalid_argument", `${name} has ${elements} elements`);
  }
  const block = engine.glue.block(tensor.dtype);
  const [blockElements, blockBytes] = [block >>> 16, block & 0xffff];
  if (block === 0) throw new NanoembedError("unsupported_dtype", `elements of type ${tensor.dtype} are not known`);
  const start = Math.floor(first / blockElements);
  const end = Math.ceil((first + many) / blockElements);
  const data = await file.read(tensor.offset + start * blockBytes, (end - start) * blockBytes, signal);
  const blocks = guarded(
    () => engine.glue.dequantize(tensor.dtype, data, (end - start) * blockElements),
    () => summary.format,
  );
  const values = blocks.subarray(first - start * blockElements, first - start * blockElements + many);
  await scale(engine, file, summary, tensor, first, values, signal);
  return values;
}

/** The scales that were read last, by file. */
const last = /* @__PURE__ */ new WeakMap<FileSummary, Map<string, Float32Array>>();

/** Multiplies 8-bit codes with the scales of their rows, groups and columns, which lie in tensors of their own. */
async function scale(
  engine: Engine<ValuesGlue>,
  file: Parts,
  summary: FileSummary,
  tensor: TensorInfo,
  first: number,
  values: Float32Array,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (summary.format !== "embd" || (tensor.dtype !== "i8" && tensor.dtype !== "u8")) return;
  const companion = async (suffix: string) => {
    const other = summary.tensors.find((candidate) => candidate.name === tensor.name + suffix);
    if (!other) return undefined;
    const known = last.get(summary);
    if (known?.has(other.name)) return known.get(other.name);
    const data = await file.read(other.offset, other.bytes, signal);
    const read = engine.glue.dequantize(other.dtype, data, other.shape.reduce((a, b) => a * b, 1));
    // Those of one tensor: whoever looks at rows one by one needs them again and again.
    const kept = known && [...known.keys()].every((name) => name.startsWith(`${tensor.name}.`)) ? known : new Map<string, Float32Array>();
    last.set(summary, kept.set(other.name, read));
    return read;
  };
  const scales = await companion(".scale");
  if (!scales) return;
  const [columns, zeros] = [await companion(".column_scale"), await companion(".zero_point")];
  const rows = tensor.shape.length < 2 ? 1 : tensor.shape[0]!;
  const cols = tensor.shape.reduce((product, dim) => product * dim, 1) / rows;
  const groups = scales.length / rows;
  for (let i = 0; i < values.length; i += 1) {
    const row = Math.floor((first + i) / cols);
    const col = (first + i) % cols;
    const code = values[i]! - (zeros?.[row] ?? 0);
    values[i] = code * scales[row * groups + Math.floor((col * groups) / cols)]! * (columns?.[col] ?? 1);
  }
}

const layerOf = (name: string) => name.replace(/\.weight(\..*)?$/, "");

/** A UQFF file with nothing but one layer. */
async function layerFile(file: Parts, summary: FileSummary, name: string, signal?: AbortSignal) {
  const layer = layerOf(name);
  const belongs = (tensor: TensorInfo) =>
    tensor.name === layer ||
    tensor.name.startsWith(`${layer}.weight`) ||
    tensor.name === `${layer}.bias` ||
    tensor.name.startsWith("uqff.version.");
  const tensors = summary.tensors.filter(belongs).sort((a, b) => a.offset - b.offset);
  const isLayer = tensors.some((t) => t.name === `${layer}.weight.format` || (t.name === layer && /^\d+$/.test(layer)));
  if (!isLayer) return undefined;
  const header: Record<string, unknown> = {};
  let at = 0;
  for (const { name: key, dtype, shape, bytes } of tensors) {
    header[key] = { dtype: dtype.toUpperCase(), shape, data_offsets: [at, at + bytes] };
    at += bytes;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const whole = new Uint8Array(8 + text.length + at);
  new DataView(whole.buffer).setBigUint64(0, BigInt(text.length), true);
  whole.set(text, 8);
  at = 8 + text.length;
  for (const { offset, bytes } of tensors) {
    whole.set(await file.read(offset, bytes, signal), at);
    at += bytes;
  }
  return { bytes: whole, layer };
}

function layerValues(
  engine: Engine<ValuesGlue>,
  { bytes, layer }: { bytes: Uint8Array; layer: string },
  { first = 0, count }: Wanted,
): Float32Array {
  const { dequantize_layer, layer_elements } = engine.glue;
  return guarded(() => {
    const wanted = count ?? layer_elements(bytes, layer) - first;
    return dequantize_layer(bytes, layer, first, wanted);
  }, () => "uqff");
}

/** Looks at every byte of a file: structure, bounds, checksums, codes. Nothing is kept. */
export async function verifyWith(inspector: Inspector, source: Source, options: VerifyOptions = {}): Promise<Verdict> {
  checkNames<keyof VerifyOptions>(options, { ...FETCH, strict: true, onProgress: true });
  const file = await pieces(source, options);
  const total = file.size === undefined ? {} : { total: file.size };
  let start: Uint8Array = new Uint8Array();
  let opened: { engine: Engine<InspectGlue>; reader: InspectReader } | undefined;
  let loaded = 0;
  const open = async () => {
    familyOf(start);
    const engine = await unlessAborted(inspector(), options.signal);
    return { engine, reader: new engine.glue.Reader(Purpose.Verify, options.strict ?? false, -1) };
  };
  try {
    for await (const piece of file) {
      options.signal?.throwIfAborted();
      loaded += piece.length;
      let next = piece;
      if (!opened) {
        start = joined(start, piece).slice();
        if (start.length < MAGIC_BYTES) continue;
        opened = await open();
        next = start;
      }
      const { engine, reader } = opened;
      // Large pieces are cut, so that memory is bounded whatever the source gives.
      for (let at = 0; at < next.length; at += 1 << 20) {
        const part = next.subarray(at, at + (1 << 20));
        const address = reader.room(part.length);
        engine.view(address, part.length).set(part);
        reader.advance();
      }
      options.onProgress?.({ loaded, ...total, phase: "download" });
    }
    const { reader } = (opened ??= await open());
    reader.finish();
    return { ok: true, format: reader.format()!, bytes: loaded };
  } catch (thrown) {
    const format = opened?.reader.format();
    const error = fromModule(thrown, format);
    const isOfFile = error instanceof NanoembedError && (error !== thrown || error.code === "unknown_format") && error.code !== "internal";
    if (!isOfFile) throw error;
    return { ok: false, format, bytes: loaded, error };
  } finally {
    opened?.reader.free();
  }
}
