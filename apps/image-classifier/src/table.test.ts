import { describe, expect, it } from "vitest";
import { formatTable, moments } from "./table.js";

describe("the table", () => {
  const entry = {
    net: "resnet20",
    float32: [0.9, 0.92, 0.94],
    mixed: { mixed_float16: [0.91, 0.92, 0.93], mixed_bfloat16: [0.85, 0.865, 0.895] },
  };

  it("gives means and deviations in percent, and those of the differences at the same seed", () => {
    const [head, first, second] = formatTable([entry]).split("\n");
    expect(head).toMatch(/net +float32 +precision +mixed +difference +within 2 sd/);
    expect(first?.split(/ {2,}/)).toEqual([
      "resnet20",
      "92.00 ± 2.00",
      "mixed_float16",
      "92.00 ± 1.00",
      "+0.00 ± 1.00",
      "yes",
    ]);
    expect(second?.split(/ {2,}/)).toEqual([
      "resnet20",
      "92.00 ± 2.00",
      "mixed_bfloat16",
      "87.00 ± 2.29",
      "-5.00 ± 0.50",
      "no",
    ]);
  });

  it("has the deviation of a sample, and none of a single value", () => {
    expect(moments([1, 2, 3, 4])).toEqual({ mean: 2.5, deviation: Math.sqrt(5 / 3) });
    expect(moments([7])).toEqual({ mean: 7, deviation: 0 });
  });
});
