import { describe, expect, it } from "vitest";
import { hostUniform } from "./host-random.js";
import { fold, type Key, key } from "./random.js";

describe("fold", () => {
  const root = key(3);
  it.each<readonly [string, Key, Key]>([
    ["a name with a slash and two names", fold(root, "a/b"), fold(fold(root, "a"), "b")],
    ["a number and its digits", fold(root, 1), fold(root, "1")],
    ["an escape and what it stands for", fold(root, "a%2Fb"), fold(root, "a/b")],
    ["escaped digits and digits", fold(root, "%1"), fold(root, "1")],
    ["no name and none", fold(root, ""), root],
    ["a name with the sign before scopes and a name", fold(root, "a@b"), fold(root, "a")],
  ])("makes independent streams of %s", (_what, a, b) => {
    expect(a.path).not.toBe(b.path);
    expect(hostUniform(a, 4)).not.toEqual(hostUniform(b, 4));
  });

  it("leaves ordinary names readable", () => {
    expect(fold(fold(root, "layer_0.weight é"), 2).path).toBe("3/layer_0.weight é/2");
  });
});
