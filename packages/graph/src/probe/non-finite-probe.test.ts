import { describe, expect, it } from "vitest";
import { evaluate } from "../reference/index.js";
import { nonFiniteProbe } from "./non-finite-probe.js";

describe("convolutions of what is not finite", () => {
  it("are right where every term counts, also those of the padding", () => {
    const { graph, inputs, problem } = nonFiniteProbe(["f32", "f16", "bf16"]);
    expect(problem(evaluate(graph, inputs))).toBeUndefined();
  });

  it("are not where padding is left out, or where nothing comes back", () => {
    const { graph, inputs, problem } = nonFiniteProbe(["f16"]);
    expect(problem({})).toMatch(/^Conv of f16 with kernels \[3, 2, 3, 3\].* nothing came back$/);
    const results = evaluate(graph, inputs);
    const [name = ""] = Object.keys(results);
    // Infinity times zero of the padding would be NaN.
    const wrong = Object.fromEntries(
      Object.entries(results).map(([key, result]) => [
        key,
        {
          ...result,
          data: (result.data as Uint16Array).map((bits) => ((bits & 0x7fff) > 0x7c00 ? 0x7c00 : bits)),
        },
      ]),
    ) as typeof results;
    expect(results[name]?.dtype).toBe("f16");
    expect(problem(wrong)).toMatch(/element \d+ is Infinity, by IEEE 754 NaN$/);
  });
});
