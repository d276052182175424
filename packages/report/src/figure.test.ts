import { expect, it } from "vitest";
import { shorten } from "./figure.js";

it("shortens a path by what its first places are, then by its beginning", () => {
  expect(
    ["0/1 batchNorm", "1/0 residual/body", "1/0 residual/body/0 conv/kernel", "encoder/attention/query"].map(
      (path) => shorten(path, 16),
    ),
  ).toEqual(["0/1 batchNorm", "1/0/body", "…0/body/0/kernel", "…attention/query"]);
});
