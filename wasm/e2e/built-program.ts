// The command line of this project is built before the first test: that takes longer than one may.
import { cli } from "./program.js";

export default function setup(): void {
  cli(["--version"]);
}
