// What runs encoders of all families in `.weights` and AMB files, over the package's own module: loaded when a file turns out to hold one.
export { loadEncoder } from "./encoders.js";
export { weights as engine } from "./module-weights.js";
