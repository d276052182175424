import { type Op, opDTypes } from "@mp/graph";
import { expect, it } from "vitest";
import { probeGraph } from "./probe-graph.js";

it("asks for every op in every dtype it exists in", () => {
  for (const [op, dtypes] of Object.entries(opDTypes) as [Op, (typeof opDTypes)[Op]][]) {
    for (const dtype of dtypes) {
      const { nodes } = probeGraph([{ op, dtype }]);
      expect(nodes.filter((node) => node.op === op).length, `${op} in ${dtype}`).toBeGreaterThan(0);
    }
  }
});
