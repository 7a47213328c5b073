/** An address that is looked up when it is asked for, and never on import. */
export interface Address {
  /** The address: in Node that of a file. */
  readonly href: string;
  /** What to do where the address leads nowhere. */
  readonly remedy: string;
  toString(): string;
}
