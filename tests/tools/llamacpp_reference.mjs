// What llama.cpp makes of a prompt: its ids, the probabilities of the likeliest next tokens, and 64 greedy tokens.
//
//     npm install node-llama-cpp        (tests/peers/workers/js has it)
//     python tests/tools/gguf_to_f32.py SmolLM2-135M-Instruct.Q4_1.gguf smollm2.f32.gguf
//     node tests/tools/llamacpp_reference.mjs smollm2.f32.gguf > tests/data/llama/smollm2.json
//
// In f32, because llama.cpp quantises activations where weights are quantised.

import { getLlama } from "node-llama-cpp";

const PROMPT = "In the beginning, the small language model read a book about the sea and";

const llama = await getLlama({ gpu: false, build: "never", logLevel: "error", maxThreads: 1, usePrebuiltBinaries: true });
const model = await llama.loadModel({ modelPath: process.argv[2] });
const context = await model.createContext({ contextSize: 1024, batchSize: 512, threads: 1, sequences: 1 });
const sequence = context.getSequence();
const prompt = model.tokenize(PROMPT, true);
const wanted = { generateNext: { probabilities: true, token: true, options: { temperature: 0 } } };
const evaluated = await sequence.controlledEvaluate(
  prompt.map((id, index) => (index === prompt.length - 1 ? [id, wanted] : id)),
);
const top = [...evaluated[prompt.length - 1].next.probabilities.entries()].slice(0, 40);
await sequence.clearHistory();
const greedy = [];
for await (const id of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
  greedy.push(id);
  if (greedy.length >= 64) break;
}
console.log(JSON.stringify({ prompt_text: PROMPT, prompt, top, greedy }));
process.exit(0);
