// What the workers of llama.cpp share.
import { getLlama } from "node-llama-cpp";

export const answer = (value) => process.stdout.write(JSON.stringify(value) + "\n");

/** What `work` resolves to, and its nanoseconds by the clock and of the CPU. */
export async function measured(work) {
  const cpu = process.cpuUsage();
  const wall = process.hrtime.bigint();
  const result = await work();
  const wall_ns = Number(process.hrtime.bigint() - wall);
  const spent = process.cpuUsage(cpu);
  return { result, wall_ns, cpu_ns: (spent.user + spent.system) * 1000 };
}

/** llama.cpp as the package's prebuilt binary has it, on the CPU. */
export const prebuilt = (maxThreads) =>
  getLlama({ gpu: false, build: "never", logLevel: "error", maxThreads, usePrebuiltBinaries: true });
