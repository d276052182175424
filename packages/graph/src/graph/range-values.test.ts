import fc from "fast-check";
import { expect, it } from "vitest";
import { DTYPES, isFloat } from "../dtype.js";
import { evaluate } from "../reference/index.js";
import { GraphBuilder } from "./build/builder.js";
import { isNode } from "./graph.js";
import { rangeValues, uncountableRange } from "./range-values.js";

it("gives the reference's values, or none where every engine counts exactly", () => {
  const number = fc.oneof(
    fc.integer({ min: -300, max: 300 }),
    fc.double({ min: -300, max: 300, noNaN: true }),
  );
  const step = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.double({ min: 0.3, max: 40, noNaN: true }));
  let counted = 0;
  fc.assert(
    fc.property(number, step, fc.nat(50), fc.constantFrom(...DTYPES), (start, delta, count, dtype) => {
      fc.pre(dtype !== "u64" || start >= 0);
      const builder = new GraphBuilder();
      const limit = start + count * delta;
      const result = builder.emitOne("Range", [], { start, limit, delta, dtype });
      const graph = builder.finish({ result });
      const [node] = graph.nodes;
      if (node === undefined || !isNode(node, "Range")) throw new Error("a graph of one Range");
      expect(rangeValues(node)).toEqual(evaluate(graph, {})["result"]);
      const values = uncountableRange(node);
      if (values === undefined) counted++;
      else expect(values).toEqual(rangeValues(node));
      if (isFloat(dtype) && !Number.isInteger(delta)) expect(values).toBeDefined();
    }),
    { seed: 1, numRuns: 2000 },
  );
  expect(counted).toBeGreaterThan(10);
});
