import { describe, expect, it } from "vitest";
import { leavesOf, mapTree } from "./tree.js";

const isNumber = (value: unknown): value is number => typeof value === "number";

describe("a tree", () => {
  it.each([
    [{ "": 1 }, 'the key "" is empty'],
    [{ "a/b": 1 }, 'the key "a/b" contains a slash'],
    [{ "a\0": 1 }, 'the key "a\\u0000" contains a zero character'],
    [{ "\ud800": 1 }, 'the key "\\ud800" is not well-formed Unicode'],
    // biome-ignore lint/suspicious/noSparseArray: a hole is what is refused
    [[, 1], "params at 0: a tree holds tensors, arrays and plain objects, got undefined"],
  ])("refuses %j", (tree, message) => {
    expect(() => leavesOf(tree, isNumber, "params")).toThrow(message);
    expect(() => mapTree(tree, isNumber, (leaf) => leaf, "params")).toThrow(message);
  });

  it("may have any other key", () => {
    const keys = ["__proto__", "a.b", "constructor", "e\u0301", "é", "😀"];
    const tree = Object.fromEntries(keys.map((key, index) => [key, index]));
    expect(leavesOf(tree, isNumber, "params").map(([path]) => path)).toEqual(keys.toSorted());
    expect(Object.entries(mapTree(tree, isNumber, (leaf) => leaf))).toHaveLength(keys.length);
  });

  it("ends at 64 levels, however deep it is", () => {
    let tree: unknown = 1;
    for (let level = 0; level < 64; level++) tree = [tree];
    expect(leavesOf(tree, isNumber, "params")).toHaveLength(1);
    for (let level = 0; level < 10_000; level++) tree = [tree];
    expect(() => leavesOf(tree, isNumber, "params")).toThrow("nested deeper than 64 levels");
  });
});
