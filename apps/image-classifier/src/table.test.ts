import { describe, expect, it } from "vitest";
import { formatTable, type TableEntry } from "./table.js";

const entry = (precision: TableEntry["precision"], values: readonly number[]): TableEntry => ({
  net: "resnet20",
  precision,
  runs: values.map((value) => ({ result: { metric: { name: "test accuracy", value } } })),
});

describe("the table", () => {
  const entries = [
    entry("float32", [0.9, 0.92, 0.94]),
    entry("mixed_float16", [0.91, 0.92, 0.93]),
    entry("mixed_bfloat16", [0.85, 0.865, 0.895]),
  ];

  it("gives means and deviations in percent, and those of the differences at the same seed", () => {
    const [head, first, verdict] = formatTable(entries).split("\n");
    expect(head).toMatch(/net +float32 +mixed_float16 +difference +mixed_bfloat16 +difference/);
    expect(first?.split(/ {2,}/)).toEqual([
      "resnet20",
      "92.00 ± 2.00",
      "92.00 ± 1.00",
      "+0.00 ± 1.00",
      "87.00 ± 2.29",
      "-5.00 ± 0.50",
    ]);
    expect(verdict).toBe("More than two standard deviations apart: resnet20 in mixed_bfloat16.");
    const same = [...entries.slice(0, 2), entry("mixed_bfloat16", [0.9, 0.92, 0.94])];
    expect(formatTable(same)).toContain("Every difference is within two");
  });

  it("leaves out a network that was stopped in the middle", () => {
    expect(formatTable(entries.slice(0, 2))).not.toContain("resnet20");
  });
});
