// How the demo cuts texts into passages.
import { expect, test } from "vitest";
import { passagesOf } from "../demo/src/passages.js";

test("paragraphs and items stay whole, and nothing is long or lost", () => {
  expect(passagesOf("One.\n\nTwo lines\nof one.\n- an item\n- another")).toEqual(["One.", "Two lines of one.", "- an item", "- another"]);
  const lines = Array.from({ length: 5000 }, (_, at) => `line ${at} of a file without empty lines`).join("\n");
  const sentences = "This is a sentence of some words. ".repeat(200);
  const words = "word ".repeat(2000);
  for (const text of [lines, sentences, words, "x".repeat(5000)]) {
    const passages = passagesOf(text);
    expect(Math.max(...passages.map(({ length }) => length))).toBeLessThanOrEqual(401);
    expect(passages.join("").replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
  }
  // Short neighbours stand together.
  expect(passagesOf(lines).length).toBeLessThan(1000);
});
