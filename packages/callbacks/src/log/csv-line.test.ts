import { expect, it } from "vitest";
import { csvCells, csvLine } from "./csv-line.js";

it.each([
  [["a", "b"], "a,b"],
  [["", ""], ","],
  [["a", "", "b", ""], "a,,b,"],
  [['say "x"', "p,q"], '"say ""x""","p,q"'],
  [["a"], "a"],
])("writes and reads %o", (cells, line) => {
  expect(csvLine(cells)).toBe(line);
  expect(csvCells(line)).toEqual(cells);
});
