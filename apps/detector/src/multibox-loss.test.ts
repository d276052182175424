import { tensor } from "@mp/core";
import { traceInto } from "@mp/core/graph";
import { evaluate } from "@mp/core/reference";
import { describe, expect, it } from "vitest";
import { multiboxLoss } from "./multibox-loss.js";

const ANCHORS = 16;

/** The loss if, at each anchor, the logit of the class exceeds that of the background by a margin. */
function lossOf(margins: readonly number[], labels: readonly number[], offset = 0): number {
  const images = labels.length / ANCHORS;
  const type = (dtype: "f32" | "i32", ...rest: readonly number[]) => ({
    dtype,
    shape: [images, ANCHORS, ...rest],
  });
  const { graph } = traceInto(
    [
      { name: "scores", role: "batch", type: type("f32", 2) },
      { name: "predicted", role: "batch", type: type("f32", 4) },
      { name: "labels", role: "batch", type: type("i32") },
      { name: "offsets", role: "batch", type: type("f32", 4) },
    ],
    ([scores, predicted, classes, offsets]) => ({
      loss: multiboxLoss(
        { scores: scores as never, offsets: predicted as never },
        { labels: classes as never, offsets: offsets as never },
      ),
    }),
  );
  const shape = [images, ANCHORS, 4];
  const { loss } = evaluate(graph, {
    scores: tensor(Float32Array.from(margins.flatMap((margin) => [0, margin])), [images, ANCHORS, 2]),
    predicted: tensor(new Float32Array(4 * labels.length).fill(offset), shape),
    labels: tensor(Int32Array.from(labels), [images, ANCHORS]),
    offsets: tensor(new Float32Array(4 * labels.length), shape),
  });
  return Number(loss?.data[0]);
}

/** Cross entropy of the class against the background where the logit of the class is higher by the margin. */
const missed = (margin: number): number => Math.log(1 + Math.exp(-margin));
const raised = (margin: number): number => Math.log(1 + Math.exp(margin));
const padded = (...values: readonly number[]): number[] => [
  ...values,
  ...new Array<number>(ANCHORS - values.length).fill(0),
];

describe("multibox loss", () => {
  it("counts the anchors that hold a box and three times as many of the hardest others", () => {
    const margins = padded(1, 4, 3, 2).map((margin, index) => (index < 4 ? margin : -index));
    const want = missed(1) + raised(4) + raised(3) + raised(2);
    expect(lossOf(margins, padded(1))).toBeCloseTo(want, 5);
  });

  it("divides by the anchors that hold a box, and chooses image by image", () => {
    const far = (margin: number, index: number): number => (index < 4 ? margin : -50 - index);
    const margins = [...padded(1, 4, 3, 2).map(far), ...padded(2, 1, 0.5, 0.25).map(far)];
    const first = missed(1) + raised(4) + raised(3) + raised(2);
    const second = missed(2) + raised(1) + raised(0.5) + raised(0.25);
    expect(lossOf(margins, [...padded(1), ...padded(1)])).toBeCloseTo((first + second) / 2, 5);
  });

  it("passes by what is ignored, however hard", () => {
    const margins = padded(1, 40).map((margin, index) => (index < 2 ? margin : -50 - index));
    expect(lossOf(margins, padded(1, -1))).toBeCloseTo(missed(1), 5);
  });

  it("looks at offsets only where there is a box", () => {
    const margins = padded(50).map((margin, index) => (index === 0 ? margin : -50 - index));
    // Smooth L1 of 3 is 2.5, four times.
    expect(lossOf(margins, padded(1), 3)).toBeCloseTo(10, 5);
  });

  it("of an image without a box is its hardest anchor", () => {
    const margins = padded(3, 2).map((margin, index) => (index < 2 ? margin : -50 - index));
    expect(lossOf(margins, padded())).toBeCloseTo(raised(3), 5);
  });
});
