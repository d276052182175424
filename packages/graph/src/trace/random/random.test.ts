import { describe, expect, it } from "vitest";
import { hostUniform } from "./host-random.js";
import { foldIn, type Key, key } from "./random.js";

describe("fold", () => {
  const root = key(3);
  it.each<readonly [string, Key, Key]>([
    ["a name with a slash and two names", foldIn(root, "a/b"), foldIn(foldIn(root, "a"), "b")],
    ["a number and its digits", foldIn(root, 1), foldIn(root, "1")],
    ["an escape and what it stands for", foldIn(root, "a%2Fb"), foldIn(root, "a/b")],
    ["escaped digits and digits", foldIn(root, "%1"), foldIn(root, "1")],
    ["no name and none", foldIn(root, ""), root],
    ["a name with the sign before scopes and a name", foldIn(root, "a@b"), foldIn(root, "a")],
  ])("makes independent streams of %s", (_what, a, b) => {
    expect(a.path).not.toBe(b.path);
    expect(hostUniform(a, 4)).not.toEqual(hostUniform(b, 4));
  });

  it("leaves ordinary names readable", () => {
    expect(foldIn(foldIn(root, "layer_0.weight é"), 2).path).toBe("3/layer_0.weight é/2");
  });
});
