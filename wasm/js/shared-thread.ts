// Runs in a worker of a pool whose workers share models, over the package's own modules. All code is in this file: some bundlers
// cannot load parts of workers.
import { causal } from "./module-causal.js";
import { encoders } from "./module-encoders.js";
import { gguf } from "./module-gguf.js";
import { inspector } from "./module-inspect.js";
import { sentences, tables } from "./module-sentences.js";
import { shared } from "./module-shared.js";
import { slim } from "./module-slim.js";
import { values } from "./module-values.js";
import { weights } from "./module-weights.js";
import { serve } from "./serving.js";
import { sharing } from "./serving-shared.js";

const modules = { sentences, static: tables, words: slim, causal, encoders, weights, gguf, inspector, values };
serve(modules, sharing(modules, shared));
