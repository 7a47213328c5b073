// Greedy continuations by llama.cpp, on a GGUF file, by node-llama-cpp's prebuilt binary. One line of JSON a command, as
// `tests/examples/decoder.rs` takes them.
//
// What JavaScript does between tokens is in the times of tokens; it is little beside them.
import { createInterface } from "node:readline";
import { answer, measured, prebuilt } from "./llamacpp.mjs";

const POSITIONS = 1024;

const llama = await prebuilt(1);
const model = await llama.loadModel({ modelPath: process.argv[2] });
const context = await model.createContext({ contextSize: POSITIONS, batchSize: 512, threads: 1, sequences: 1 });
const sequence = context.getSequence();

async function generate({ ids, tokens }) {
  await sequence.clearHistory();
  // The last id of the prompt is evaluated with the first token: then its logits are there, as they are for ours.
  const prompt = await measured(() => sequence.evaluateWithoutGeneratingNewTokens(ids));
  const said = [];
  const times = await measured(async () => {
    for await (const id of sequence.evaluate([ids.at(-1)], { temperature: 0, yieldEogToken: true })) {
      said.push(id);
      if (said.length >= tokens) break;
    }
  });
  const of = ({ wall_ns, cpu_ns }) => ({ wall_ns, cpu_ns });
  return { generated: { prompt: of(prompt), tokens: of(times), ids: said } };
}

answer({ started: {} });
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  try {
    answer(await generate(command.generate));
  } catch (error) {
    answer({ failed: { reason: String(error?.message ?? error) } });
  }
}
process.exit(0);
