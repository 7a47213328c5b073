// Word vectors over the package's own module: loaded when a file turns out to hold them.
export { slim as engine } from "./module-slim.js";
export { loadWords, openWith } from "./words.js";
