// Opens GGUF files with @huggingface/gguf: a path a line on stdin, a verdict a line on stdout.
import { createInterface } from "node:readline";
import { gguf } from "@huggingface/gguf";

for await (const path of createInterface({ input: process.stdin })) {
    try {
        await gguf(path, { allowLocalFile: true });
        console.log("accepted");
    } catch (error) {
        console.log(`error ${error}`.replaceAll("\n", " "));
    }
}
