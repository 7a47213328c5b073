// Where a file of this package is. It is looked up when it is asked for: frameworks run imports on servers, too.

/** An address as `load` takes it, and whatever else reads `href` or calls `String`. */
class Address {
  #file;
  #locate;

  constructor(file, locate) {
    this.#file = file;
    this.#locate = locate;
  }

  get href() {
    const given = this.#given();
    const isFile = given === undefined || /^(file:|\/)/.test(given);
    const builtin = globalThis.process?.getBuiltinModule;
    const found = isFile && builtin ? onDisk(builtin, given, this.#file) : given;
    if (found === undefined) throw new Error(`${this.#file} was not found. ${this.remedy}`);
    return found;
  }

  toString() {
    return this.href;
  }

  /** What to do where the address leads nowhere. */
  get remedy() {
    return (
      "Bundled code does not always reach files of packages. " +
      `For pages made by esbuild or Rollup: cp node_modules/nanoembed-minilm/${this.#file} OUT. ` +
      'For servers of Next.js, in next.config: serverExternalPackages: ["nanoembed", "nanoembed-minilm"]. ' +
      `In Cloudflare Workers, with the file among the assets: load(await env.ASSETS.fetch("https://assets/${this.#file}")). ` +
      `Anywhere: load("https://unpkg.com/nanoembed-minilm/${this.#file}")`
    );
  }

  /** The address as the bundler or the runtime gives it; nothing where code has no address. */
  #given() {
    try {
      // Vite's development server moves the code of dependencies into a folder of its own, and nothing else.
      return this.#locate().href.replace(/\/\.vite\/deps[^/]*\//, "/nanoembed-minilm/");
    } catch {
      return undefined;
    }
  }
}

/** The file in Node: where the bundler put it, or where the package is installed, which is where code runs as a rule. */
function onDisk(builtin, given, file) {
  const { process } = globalThis;
  try {
    if (given?.startsWith("file:") && builtin("node:fs").existsSync(new URL(given))) return given;
    const path = builtin("node:module").createRequire(`${process.cwd()}/`).resolve(`nanoembed-minilm/${file}`);
    return builtin("node:url").pathToFileURL(path).href;
  } catch {
    return undefined;
  }
}

/** The address of a file, which `locate` gives as a `URL`. */
export const address = (file, locate) => new Address(file, locate);
