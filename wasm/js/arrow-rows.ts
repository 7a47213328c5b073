// Rows of Apache Arrow's data in another order. Arrow's JavaScript has no such function, and its values are not always what is
// stored: a timestamp is read as milliseconds. So buffers are copied, whatever they mean.
import { check } from "./errors.js";

type Numbers = Int32Array | BigInt64Array;
type Values = ArrayLike<unknown> & { constructor: unknown; subarray(start: number, end: number): Values; set(values: Values, at: number): void };

/** As much of Arrow's `Data` as is used. Buffers are those of offsets, of values, and of the bits of rows that are not null. */
export interface ArrowData {
  readonly type: object;
  readonly typeId: number;
  readonly offset: number;
  readonly length: number;
  readonly nullCount: number;
  readonly stride: number;
  readonly valueOffsets: Numbers | undefined;
  readonly values: Values | undefined;
  readonly children: readonly ArrowData[];
  getValid(row: number): boolean;
  clone(type: object, offset: number, length: number, nullCount: number, buffers: unknown[], children: ArrowData[]): ArrowData;
}

const BOOL = 6;
const UNION = 14;

/** The rows of `data` that `rows` names, in its order. */
export function takeRows(data: ArrowData, rows: readonly number[]): ArrowData {
  const isNullable = data.nullCount > 0;
  const valid = isNullable ? bits(rows, (row) => data.getValid(row)) : undefined;
  const nulls = isNullable ? rows.filter((row) => !data.getValid(row)).length : 0;
  const [offsets, values, children] = contents(data, rows);
  return data.clone(data.type, 0, rows.length, nulls, [offsets, values, valid], children);
}

type Contents = [offsets: Numbers | undefined, values: unknown, children: ArrowData[]];

function contents(data: ArrowData, rows: readonly number[]): Contents {
  const { typeId, valueOffsets, values, children, offset, stride } = data;
  check(typeId !== UNION, "columns of unions cannot be reranked: select others");
  if (valueOffsets) {
    const pieces = rows.map((row): Piece => [Number(valueOffsets[row]), Number(valueOffsets[row + 1])]);
    const offsets = ends(valueOffsets, pieces);
    if (values) return [offsets, joined(values, pieces), []];
    return [offsets, undefined, children.map((child) => takeRows(child, pieces.flatMap(range)))];
  }
  if (typeId === BOOL) return [undefined, bits(rows, (row) => bit(values as Uint8Array, offset + row)), []];
  const pieces = rows.map((row): Piece => [row * stride, (row + 1) * stride]);
  // A list of fixed length, whose stride is that length, or a struct.
  if (children.length > 0) return [undefined, undefined, children.map((child) => takeRows(child, pieces.flatMap(range)))];
  return [undefined, values && joined(values, pieces), []];
}

/** Where values begin and end. */
type Piece = [start: number, end: number];

const range = ([start, end]: Piece) => Array.from({ length: end - start }, (_, at) => start + at);

const bit = (bytes: Uint8Array, at: number) => ((bytes[at >> 3]! >> (at & 7)) & 1) === 1;

function bits(rows: readonly number[], isSet: (row: number) => boolean): Uint8Array {
  const all = new Uint8Array(Math.ceil(rows.length / 8));
  rows.forEach((row, at) => {
    if (isSet(row)) all[at >> 3]! |= 1 << (at & 7);
  });
  return all;
}

/** Offsets of these pieces, one after the other, in an array like `like`. */
function ends(like: Numbers, pieces: readonly Piece[]): Numbers {
  const all = [0];
  for (const [start, end] of pieces) all.push(all.at(-1)! + end - start);
  return like instanceof Int32Array ? Int32Array.from(all) : BigInt64Array.from(all, BigInt);
}

function joined(values: Values, pieces: readonly Piece[]): Values {
  const length = pieces.reduce((sum, [start, end]) => sum + end - start, 0);
  const all = new (values.constructor as new (length: number) => Values)(length);
  let at = 0;
  for (const [start, end] of pieces) {
    all.set(values.subarray(start, end), at);
    at += end - start;
  }
  return all;
}
