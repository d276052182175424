/** Loaded before a document's program: compares what it prints with the document's comments. */
import { format } from "node:util";

let last = "";
console.log = (/** @type {unknown[]} */ ...values) => {
  last = format(...values);
};

/**
 * @param {string} expected the comment after a `console.log(…);`
 * @param {string} place
 */
export function expectPrinted(expected, place) {
  if (last === expected) return;
  process.stderr.write(`${place}: prints ${last}\n  where the text says ${expected}\n`);
  process.exitCode = 1;
}
