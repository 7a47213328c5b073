// Errors that nobody catches: Node prints the line that throws, and the package's code is minified.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

test.each(["index", "slim", "inspect", "inline"])("an error of %s fills no screens", (entry) => {
  const file = new URL(`../dist/${entry}.js`, import.meta.url).href;
  const call = entry === "inspect" ? "inspect" : entry === "slim" ? "open" : "load";
  const program = `const { ${call} } = await import(${JSON.stringify(file)}); await ${call}(new Uint8Array(99));`;
  const { stderr, status } = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8", cwd: fileURLToPath(new URL(".", import.meta.url)) });
  expect(status).toBe(1);
  expect(stderr).toContain("unknown_format");
  expect(stderr.length).toBeLessThan(5000);
});
