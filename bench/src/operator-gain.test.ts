import { expect, it } from "vitest";
import { compareTables, formatGain } from "./operator-gain.js";

const row = (op: string, milliseconds: number, share: number, gigaflopsPerSecond: number | null) => ({
  op,
  calls: 1,
  milliseconds,
  share,
  gigaflopsPerSecond,
  gigabytesPerSecond: null,
});
const rest = { operators: 0, milliseconds: 0, share: 0 };

it("sets each operator beside its time in float32, with what only one of them has", () => {
  const single = { rows: [row("MatMul", 8, 0.8, 14_100), row("Tanh", 2, 0.2, null)], rest, milliseconds: 10 };
  const mixed = {
    rows: [row("MatMul", 1.6, 0.8, 70_500), row("Cast", 0.4, 0.2, null)],
    rest,
    milliseconds: 2,
  };
  const gain = compareTables("mixed_float16", single, mixed);
  expect(gain).toMatchObject({ float32Milliseconds: 10, milliseconds: 2 });
  expect(gain.rows).toEqual([
    {
      op: "MatMul",
      float32Milliseconds: 8,
      milliseconds: 1.6,
      share: 0.8,
      speedUp: 5,
      float32Teraflops: 14.1,
      teraflops: 70.5,
    },
    expect.objectContaining({ op: "Tanh", float32Milliseconds: 2, milliseconds: null, speedUp: null }),
    expect.objectContaining({ op: "Cast", float32Milliseconds: null, milliseconds: 0.4, speedUp: null }),
  ]);
  expect(formatGain(gain)).toContain("MatMul");
  expect(formatGain({ unsupported: "no profiler" })).toBe("time by operator: none, no profiler");
});
