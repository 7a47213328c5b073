/** The address of all-MiniLM-L6-v2 in 4.5 bits a weight, of 13 MB: in Node that of a file. */
declare const address: typeof globalThis extends { URL: { prototype: infer Type } } ? Type : never;
export default address;
