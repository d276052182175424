import { expect, it } from "vitest";
import { figure } from "../figure.js";
import { lossFigure, scaleFigure, weightFigure } from "./history.js";

it("the scales of a run of any length", () => {
  const history = Array.from({ length: 200_000 }, (_, step) => ({
    step,
    loss: 1,
    scale: 2 ** (step % 3),
    applied: true,
  }));
  expect(scaleFigure(history).description).toContain("0 of 200000 steps were skipped");
});

it.each([
  ["one step, infinite", [Number.POSITIVE_INFINITY], 1],
  ["NaN, then infinite", [Number.NaN, Number.POSITIVE_INFINITY], 1],
  ["finite, then infinite", [1, Number.POSITIVE_INFINITY], 1],
  ["a scale of 0", [Number.NaN, Number.NaN], 0],
  ["a scale that is infinite", [1, 2], Number.POSITIVE_INFINITY],
] as const)("figures of a run without finite losses or scales: %s", (_, losses, scale) => {
  const history = losses.map((loss, index) => ({
    step: index + 1,
    loss,
    scale,
    applied: Number.isFinite(loss),
  }));
  for (const drawn of [figure(lossFigure(history)), figure(scaleFigure(history))])
    expect(drawn.text).toContain("<svg");
  const none = `not finite in any of ${losses.length} steps`;
  expect(lossFigure(history).description === none).toBe(!losses.some((loss) => Number.isFinite(loss)));
});

it("the weights of a run, of which a step of weight 0 is one", () => {
  const history = [12, 0, 9].map((weight) => ({ loss: 1, scale: 1, applied: weight > 0, weight }));
  expect(weightFigure(history).description).toBe("from 12 to 9 in 3 steps");
});
