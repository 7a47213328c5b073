// How tests say that they were skipped.
import { appendFileSync } from "node:fs";

/** Says it to whoever watches, and in the file that NANOEMBED_SKIPPED names, of which .ci/run makes its closing lines. */
export function skipped(test, why) {
  const line = `SKIPPED ${test}: ${why}`;
  console.warn(line);
  if (process.env.NANOEMBED_SKIPPED) appendFileSync(process.env.NANOEMBED_SKIPPED, `${line}\n`);
}
