// llama.cpp on a GGUF file, by node-llama-cpp's prebuilt binary, which picks the kernels of the CPU
// at run time. Speaks the benchmark's protocol (../../README.md). Its embedding call takes one text,
// so a batch is run text by text.
import { createInterface } from "node:readline";
import { answer, measured, prebuilt } from "./llamacpp.mjs";

const MAX_TOKENS = 512;

let context;

async function open({ path, threads }) {
  const { wall_ns, cpu_ns } = await measured(async () => {
    const llama = await prebuilt(threads);
    const model = await llama.loadModel({ modelPath: path });
    context = await model.createEmbeddingContext({
      contextSize: MAX_TOKENS + 8,
      batchSize: MAX_TOKENS,
      threads,
    });
  });
  return { opened: { wall_ns, cpu_ns } };
}

async function embed(texts) {
  const vectors = [];
  for (const ids of texts) {
    const { vector } = await context.getEmbeddingFor(ids);
    const norm = Math.hypot(...vector);
    vectors.push(vector.map((x) => x / norm));
  }
  return vectors;
}

async function run({ texts, warm, runs, vectors }) {
  for (let i = 0; i < warm; i++) await embed(texts);
  const ran = { wall_ns: [], cpu_ns: [], vectors: null };
  for (let i = 0; i < runs; i++) {
    const { result, wall_ns, cpu_ns } = await measured(() => embed(texts));
    ran.wall_ns.push(wall_ns);
    ran.cpu_ns.push(cpu_ns);
    if (vectors) ran.vectors = result;
  }
  return { ran };
}

answer({ started: {} });
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  try {
    answer(command.open ? await open(command.open) : await run(command.run));
  } catch (error) {
    answer({ failed: { reason: String(error?.message ?? error) } });
  }
}
process.exit(0);
