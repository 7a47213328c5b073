// Runs in a worker, over the modules inside the JavaScript.
import { modules } from "./inline-modules.js";
import { serve } from "./serving.js";

serve(modules);
