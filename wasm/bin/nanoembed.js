#!/usr/bin/env node
// The command line: `npx nanoembed convert FOLDER OUT`. It is a package of its own, so that pages do not install it.
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import process from "node:process";

const { version } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
const PROGRAM = "nanoembed-cli";

/** Runs the package that is installed beside this one, and says whether it is. */
async function runInstalled() {
  try {
    await import(PROGRAM);
    return true;
  } catch (error) {
    if (error.code === "ERR_MODULE_NOT_FOUND" && error.message.includes(`'${PROGRAM}'`)) return false;
    throw error;
  }
}

if (!(await runInstalled())) {
  const npm = process.env.npm_execpath;
  if (npm?.endsWith("npm-cli.js")) {
    const args = [npm, "exec", "--yes", "--", `${PROGRAM}@${version}`, ...process.argv.slice(2)];
    process.exitCode = spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1;
  } else {
    console.error(`nanoembed: the command line is the package ${PROGRAM}: npm install ${PROGRAM}@${version}`);
    process.exitCode = 1;
  }
}
