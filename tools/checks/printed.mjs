/** Loaded before a document's program: holds what it prints against what the document says that it prints. */
import { format } from "node:util";

let last = "";
console.log = (/** @type {unknown[]} */ ...values) => {
  last = format(...values);
};

/**
 * @param {string} expected the comment behind a `console.log(…);`
 * @param {string} place
 */
export function printed(expected, place) {
  if (last === expected) return;
  process.stderr.write(`${place}: prints ${last}\n  where the text says ${expected}\n`);
  process.exitCode = 1;
}
