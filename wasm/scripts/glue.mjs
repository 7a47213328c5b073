// What wasm-bindgen generates, made a function: a page may have several modules with the same glue, each with variables of
// its own, and how a module is fetched and compiled is written once, in js/engine.ts.

/** Fails the build when the generated code has another form than was expected. */
function replace(text, pattern, by) {
  if (!pattern.test(text)) throw new Error(`wasm-bindgen's glue has no ${pattern}`);
  return text.replace(pattern, by);
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
  text = replace(text, /^\/\* @ts-self-types.*\n/, "");
  return `export default function glue() {\n${text}\nreturn { imports: __wbg_get_imports, start: __wbg_finalize_init, ${names.join(", ")} };\n}\n`;
}

/** Its declaration: what the functions and classes are is said where they are used. */
export const declaration = "export default function glue(): unknown;\n";
