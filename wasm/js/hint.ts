import type { NanoembedError } from "./errors.js";
import type { Address, Source } from "./source.js";

/** What may be the name of a model on a hub: of its owner and its own. */
const HUB_NAME = /^[\w.-]+\/(?!.*\.[a-z]+$)[\w.-]+$/;

/** Says what to do about an address at which there is no model, where that is known. */
export function hint(error: Partial<NanoembedError>, source: Source): void {
  if (!/^(missing_file|http_status|unknown_format|connection_lost)$/.test(String(error.code))) return;
  const name = String(source);
  const { remedy } = source as Address;
  if (remedy) error.message += `. ${remedy}`;
  else if (HUB_NAME.test(name)) error.message += `; if "${name}" is the name of a model on Hugging Face, load its folder: https://huggingface.co/${name}/resolve/main/`;
}
