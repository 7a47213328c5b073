declare module "*.wasm" {
  const bytes: Uint8Array;
  export default bytes;
}

declare module "inline-thread" {
  /** A worker's code. */
  const code: string;
  export default code;
}
