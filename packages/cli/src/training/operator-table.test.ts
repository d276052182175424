import { describe, expect, it } from "vitest";
import { formatOperatorTable, operatorTable } from "./operator-table.js";

const profile = [
  { node: "dense/MatMul0", op: "MatMul", microseconds: 900, calls: 1 },
  { node: "dense/MatMul1", op: "Gemm", microseconds: 600, calls: 1 },
  { node: "loss/Softmax0", op: "LogSoftmax", microseconds: 300, calls: 1 },
  { node: "loss/Softmax0", op: "Squeeze", microseconds: 100, calls: 2 },
  { node: "anchor/0", op: "Shape", microseconds: 98, calls: 1 },
  { node: "add/Add0", op: "Add", microseconds: 2, calls: 1 },
];
const nodes = [
  { name: "dense/MatMul0", op: "MatMul" },
  { name: "dense/MatMul1", op: "MatMul" },
  { name: "loss/Softmax0", op: "SoftmaxCrossEntropyLoss" },
  { name: "add/Add0", op: "Add" },
];
const work = {
  MatMul: { flops: 3e8, bytes: 1.5e6 },
  SoftmaxCrossEntropyLoss: { flops: 4e6, bytes: 8e6 },
  Add: { flops: 10, bytes: 120 },
};

describe("operatorTable", () => {
  const table = operatorTable(profile, { nodes, work });

  it("sums what the engine ran under the graph's operators, the most expensive first", () => {
    expect(table.milliseconds).toBe(2);
    expect(table.rows.map(({ op, calls, milliseconds, share }) => [op, calls, milliseconds, share])).toEqual([
      ["MatMul", 2, 1.5, 0.75],
      ["SoftmaxCrossEntropyLoss", 3, 0.4, 0.2],
      ["Shape (engine)", 1, 0.098, 0.049],
    ]);
  });

  it("gives what was achieved of the graph's work, and nothing for what the graph does not hold", () => {
    const [product, loss, anchor] = table.rows;
    expect(product?.gigaflopsPerSecond).toBeCloseTo(200, 9);
    expect(product?.gigabytesPerSecond).toBeCloseTo(1, 9);
    expect(loss?.gigabytesPerSecond).toBeCloseTo(20, 9);
    expect(anchor?.gigaflopsPerSecond).toBeNull();
  });

  it("puts operators below the smallest share together", () => {
    expect(table.rest).toEqual({ operators: 1, milliseconds: 0.002, share: 0.001 });
    expect(operatorTable(profile, { nodes, work, smallestShare: 0 }).rows).toHaveLength(4);
    expect(operatorTable([], { nodes, work }).rows).toEqual([]);
  });

  it("prints aligned columns", () => {
    expect(formatOperatorTable(table)).toBe(
      [
        "operator                 calls    ms     share  GFLOP/s  GB/s",
        "MatMul                       2  1.50   75.00 %    200.0   1.0",
        "SoftmaxCrossEntropyLoss      3  0.40   20.00 %     10.0  20.0",
        "Shape (engine)               1  0.10    4.90 %",
        "1 others                        0.00    0.10 %",
        "all                             2.00  100.00 %",
      ].join("\n"),
    );
  });
});
