// Types that not every program has: those of the DOM are missing in Node, those of workers in pages, and so on.

/** What the platform calls so, where the program has declarations of it. Elsewhere no value is of this type. */
export type Platform<Name extends string> = typeof globalThis extends { [name in Name]: { prototype: infer Type } } ? Type : never;

/** A compiled module, likewise. */
export type CompiledModule = typeof globalThis extends { WebAssembly: { Module: { prototype: infer Type } } } ? Type : never;
