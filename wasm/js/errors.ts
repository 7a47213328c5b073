/**
 * Whatever goes wrong with a file, a model or an argument.
 *
 * Aborting is not one of these: then the signal's own reason is thrown, a `DOMException` called `AbortError` as a rule.
 */
export class NanoembedError extends Error {
  /** @internal Under the name that people know, however the file was minified. */
  static override readonly name: string = "NanoembedError";
  /** A stable name of the cause in `snake_case`, for example `data_checksum` or `http_status`. */
  readonly code: string;
  /** The byte of the file where it was found, if there is one. */
  readonly offset: number | undefined;
  /** The format of the file, if it was known by then: `amb`, `embd`, `finalfusion`, `gguf`, `safetensors`, `uqff`. */
  readonly format: string | undefined;

  constructor(code: string, message: string, details: { offset?: number; format?: string; cause?: unknown } = {}) {
    super(message, details);
    this.name = "NanoembedError";
    this.code = code;
    this.offset = details.offset;
    this.format = details.format;
  }
}

/** What a module throws, and what becomes of it. */
interface Failure {
  number(): number;
  code(): string;
  message(): string;
  offset(): number | undefined;
  free(): void;
}

/** Makes what a module has thrown an error for people; anything else stays as it is. */
export function fromModule(thrown: unknown, format?: string): unknown {
  if (thrown instanceof WebAssembly.RuntimeError) {
    return new NanoembedError("internal", `the module stopped: ${thrown.message}`, { cause: thrown });
  }
  const failure = thrown as Failure | undefined;
  if (!failure?.number) return thrown;
  const [code, offset] = [failure.code(), failure.offset()];
  let message = failure.message();
  const details: { offset?: number; format?: string } = format === undefined ? {} : { format };
  // Errors of the caller (4xx) are about arguments, not about a place in the file.
  if (String(failure.number())[0] !== "4" && offset !== undefined) {
    details.offset = offset;
    if (offset) message = `byte ${offset}: ${message}`;
  }
  failure.free();
  return new NanoembedError(code, message, details);
}

/** Runs something that calls a module. The format is asked for only when something went wrong: it may be known by then. */
export function guarded<T>(run: () => T, format?: () => string | undefined): T {
  try {
    return run();
  } catch (thrown) {
    throw fromModule(thrown, format?.());
  }
}

/** Refuses what a caller got wrong. */
export function check(condition: boolean, message: string): asserts condition {
  if (!condition) throw new NanoembedError("invalid_argument", message);
}

/** Refuses what is given in place of options, all of whose names would be missing. */
export function checkIsObject(options: object): void {
  check(typeof options === "object", "options must be an object");
}

/**
 * Refuses options whose names are not `known`: they would be passed over without a word. The message lists those that are `true`;
 * `false` are those of the package's own calls. A member that is undefined is none. `place` stands before the name.
 */
export function checkNames<Name extends string>(options: object, known: Record<Name, boolean>, place = ""): void {
  checkIsObject(options);
  const names = Object.keys(known) as Name[];
  const [unknown] = Object.entries(options).find(([name, value]) => value !== undefined && !names.includes(name as Name)) ?? [];
  const told = names.filter((name) => known[name]).join(", ");
  check(unknown === undefined, `there is no option "${place}${unknown}"; the options are ${told}`);
}
