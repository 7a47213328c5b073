// What wasm-bindgen generates, made a function: a page may have several modules with the same glue, each with variables of
// its own, and how a module is fetched and compiled is written once, in js/engine.ts.

/** Fails the build when the generated code has another form than was expected. */
function replace(text, pattern, by) {
  if (!pattern.test(text)) throw new Error(`wasm-bindgen's glue has no ${pattern}`);
  return text.replace(pattern, by);
}

/** What browsers with SIMD all have, and what is done elsewhere. */
function shortened(text) {
  // Models free themselves; what they throw and what reads files is freed where it is used.
  text = text.replace(/^if \(Symbol\.dispose\).*\n/gm, "");
  text = text.replace(/^ *(Failure|Reader)Finalization\..*\n/gm, "");
  text = text.replace(/^const (Failure|Reader)Finalization = [^;]*;\n/gm, "");
  text = text.replace(/\(typeof FinalizationRegistry === 'undefined'\)\s*\? \{[^}]*\}, unregister: \(\) => \{\} \}\s*: /g, "");
  if (text.includes("typeof FinalizationRegistry")) throw new Error("wasm-bindgen's glue finalizes otherwise");
  // What is given to constructors comes from this package.
  text = text.replace(/^ *_assertClass\(.*\n/gm, "").replace(/^function _assertClass[^]*?\n\}\n/m, "");
  text = text.replace(/ *let (deferred\d+_0);\n *let (deferred\d+_1);\n *try \{\n *const ret = (.*);\n *\1 = ret\[0\];\n *\2 = ret\[1\];\n *return getStringFromWasm0\(ret\[0\], ret\[1\]\);\n *\} finally \{\n.*\n *\}\n/g,
    "        return takeString($3);\n");
  text += "function takeString(ret) {\n    const text = getStringFromWasm0(ret[0], ret[1]);\n    wasm.__wbindgen_free(ret[0], ret[1], 1);\n    return text;\n}\n";
  // Values of JavaScript that no module asks for.
  text = replace(text, /(__wbindgen_init_externref_table: function\(\) \{)[^}]*/, "$1");
  // Safari's decoders fail after 2 GB. None decodes what threads share.
  text = replace(text, /let cachedTextDecoder = [^]*?\nfunction decodeText\(bytes\) \{[^]*?\.decode\((bytes[^;]*)\);\n\}\n/,
    "function decodeText(bytes) {\n    return new TextDecoder('utf-8', { ignoreBOM: true }).decode($1);\n}\n");
  // The size of a thread's stack comes from this package, too.
  text = text.replace(/ *if \(typeof thread_stack_size [^]*?\n    \}\n/, "");
  if (!text.includes("cachedTextEncoder")) return text;
  text = text.replace("(typeof TextEncoder !== 'undefined' ? new TextEncoder() : undefined)", "new TextEncoder()");
  text = replace(text, /\nif \((?:!\('encodeInto' in cachedTextEncoder\)|cachedTextEncoder)\) \{[^]*?\n\}\n/, "\n");
  // The branch for allocators that cannot grow a block: one copy more of a text, and a third of the code.
  text = replace(text, /(function passStringToWasm0\(arg, malloc), realloc\) \{\n *if \(realloc === undefined\) \{\n([^}]*)\}\n[^]*?\n\}\n/, "$1) {\n$2}\n");
  return text.replace(/, wasm\.__wbindgen_malloc, wasm\.__wbindgen_realloc\)/g, ", wasm.__wbindgen_malloc)");
}

/** A module whose default export makes the glue: its functions and classes, what the module imports, how it starts. */
export function factory(javascript) {
  // Loading and `export { initSync, __wbg_init as default }`.
  let text = replace(javascript, /async function __wbg_load\([^]*$/, "");
  const names = [];
  // Enums are written where they are used.
  text = text.replace(/export const \w+ = Object\.freeze\(\{[^]*?\}\);\n/g, "");
  text = text.replace(/^export (class|function) (\w+)/gm, (_, kind, name) => {
    names.push(name);
    return `${kind} ${name}`;
  });
  if (/^export /m.test(text)) throw new Error("wasm-bindgen's glue exports something that is not known here");
  text = shortened(replace(text, /^\/\* @ts-self-types.*\n/, ""));
  return `export default function glue() {\n${text}\nreturn { imports: __wbg_get_imports, start: __wbg_finalize_init, ${names.join(", ")} };\n}\n`;
}

/** Its declaration: what the functions and classes are is said where they are used. */
export const declaration = "export default function glue(): unknown;\n";
