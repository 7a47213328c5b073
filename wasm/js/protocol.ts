// What the page and its workers say to each other.
import { NanoembedError } from "./errors.js";

/** A question. `id` tells questions apart; `handle` is what an earlier answer gave. */
export interface Question {
  id: number;
  op: string;
  handle?: number;
  args: unknown[];
}

/** A request as it goes to a worker. */
export interface PlainRequest {
  url: string;
  credentials: RequestCredentials;
  headers: [string, string][];
}

export type Answer =
  | { id: number; value: unknown }
  | { id: number; progress: unknown }
  | { id: number; error: PlainError };

interface PlainError {
  name: string;
  message: string;
  code?: string;
  offset?: number | undefined;
  format?: string | undefined;
}

export function toPlain(error: unknown): PlainError {
  if (error instanceof NanoembedError) {
    const { name, message, code, offset, format } = error;
    return { name, message, code, offset, format };
  }
  const { name = "Error", message = String(error) } = (error ?? {}) as Partial<Error>;
  return { name, message };
}

export function fromPlain({ name, message, code, offset, format }: PlainError): Error {
  if (code === undefined) return name === "AbortError" ? new DOMException(message, name) : Object.assign(new Error(message), { name });
  return new NanoembedError(code, message, {
    ...(offset === undefined ? {} : { offset }),
    ...(format === undefined ? {} : { format }),
  });
}
