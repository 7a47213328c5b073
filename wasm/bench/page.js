// Every peer from its files to vectors, in the page. All get the same token ids: `word` again and again.
const WORD = 2773;
const ids = (n) => Array.from({ length: n }, (_, at) => (at === 0 ? 101 : at === n - 1 ? 102 : WORD));
const text = (n) => "word ".repeat(n - 2).trim();

function pool(states, n) {
  const width = states.length / n;
  const out = new Float32Array(width);
  for (let at = 0; at < states.length; at += 1) out[at % width] += states[at];
  const length = Math.hypot(...out);
  return out.map((value) => value / length);
}

const feeds = (Tensor, n) => {
  const tensor = (values) => new Tensor("int64", BigInt64Array.from(values, BigInt), [1, n]);
  return { input_ids: tensor(ids(n)), attention_mask: tensor(ids(n).map(() => 1)), token_type_ids: tensor(ids(n).map(() => 0)) };
};

const peers = {
  async nanoembed({ model, variant, precision }) {
    const { init, load } = await import("/dist/index.js");
    if (variant) await init({ module_or_path: `/dist/${variant}.wasm` });
    const loaded = await load(model, { kind: "sentences" });
    return async (n) => (await loaded.embed(text(n), { precision })).data;
  },
  async onnxruntime({ model }) {
    const ort = await import("/nm/onnxruntime-web/dist/ort.wasm.bundle.min.mjs");
    ort.env.wasm.numThreads = 1;
    ort.env.wasm.wasmPaths = "/nm/onnxruntime-web/dist/";
    ort.env.logLevel = "error";
    const session = await ort.InferenceSession.create(model, { executionProviders: ["wasm"], graphOptimizationLevel: "all" });
    return async (n) => {
      const wanted = feeds(ort.Tensor, n);
      const result = await session.run(Object.fromEntries(session.inputNames.map((name) => [name, wanted[name]])));
      return pool(result[session.outputNames[0]].data, n);
    };
  },
  async transformers({ dtype }) {
    const T = await import("/nm/@huggingface/transformers/dist/transformers.min.js");
    T.env.allowRemoteModels = false;
    T.env.allowLocalModels = true;
    T.env.localModelPath = "/models/";
    T.env.useBrowserCache = false;
    T.env.useWasmCache = false;
    T.env.backends.onnx.wasm.numThreads = 1;
    T.env.backends.onnx.wasm.wasmPaths = "/nm/onnxruntime-web/dist/";
    const pipe = await T.pipeline("feature-extraction", "minilm", { device: "wasm", dtype });
    return async (n) => pool((await pipe.model(feeds(T.Tensor, n))).last_hidden_state.data, n);
  },
};

const open = {};

/** Opens a peer and embeds once; milliseconds of both. */
window.cold = async (name, kind, options) => {
  const start = performance.now();
  open[name] = await peers[kind](options);
  const loaded = performance.now() - start;
  const vector = await open[name](8);
  return { loaded, first: performance.now() - start, vector: Array.from(vector) };
};

/** Lets the compiler see what is hot. */
window.warm = async (name, milliseconds) => {
  const end = performance.now() + milliseconds;
  while (performance.now() < end) await open[name](32);
};

/** One turn: the median of some runs, and the vector. */
window.turn = async (name, tokens, runs) => {
  await open[name](tokens);
  const times = [];
  let vector;
  for (let run = 0; run < runs; run += 1) {
    const start = performance.now();
    vector = await open[name](tokens);
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return { milliseconds: times[runs >> 1], vector: Array.from(vector) };
};
window.ready = true;

// Opened to load one peer while nobody looks on.
if (location.search === "?cold") {
  const peer = await (await fetch("/peer")).json();
  const result = await window.cold(...peer).catch((error) => ({ error: String(error) }));
  await fetch("/done", { method: "POST", body: JSON.stringify(result) });
}
