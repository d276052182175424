import { expect, it } from "vitest";
import { scaleFigure } from "./history.js";

it("the scales of a run of any length", () => {
  const history = Array.from({ length: 200_000 }, (_, step) => ({
    step,
    loss: 1,
    scale: 2 ** (step % 3),
    applied: true,
  }));
  expect(scaleFigure(history).description).toContain("0 of 200000 steps were skipped");
});
