// What runs encoders in GGUF files, over the package's own module: loaded when a file turns out to hold one.
export { loadEncoder } from "./encoders.js";
export { gguf as engine } from "./module-gguf.js";
