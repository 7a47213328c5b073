// What continues texts, over the package's own module: loaded when a file turns out to hold such a model.
export { loadCausal } from "./causal.js";
export { causal as engine } from "./module-causal.js";
