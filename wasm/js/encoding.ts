// What runs encoders of all families, over the package's own module: loaded when a file or a folder turns out to hold one.
export { loadEncoder } from "./encoders.js";
export { loadFolder } from "./folder.js";
export { encoders as engine } from "./module-encoders.js";
