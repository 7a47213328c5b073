import { defineConfig } from "vitest/config";

const globalSetup = "e2e/built-program.ts";

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["tests/**/*.test.ts"], testTimeout: 60_000, hookTimeout: 60_000 } },
      // One browser at a time.
      { test: { name: "e2e", globalSetup, include: ["e2e/**/*.test.ts"], exclude: ["e2e/{runtimes,minilm,command-line}.test.ts"], testTimeout: 180_000, hookTimeout: 240_000, fileParallelism: false } },
      // Files that wait for npm and for builds of others run side by side, so that each test takes longer than alone.
      { test: { name: "runtimes", globalSetup, maxWorkers: 3, sequence: { groupOrder: 1 }, include: ["e2e/{runtimes,minilm,command-line}.test.ts"], testTimeout: 600_000, hookTimeout: 600_000 } },
    ],
  },
});
