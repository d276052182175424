import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../graph/build/builder.js";
import type { Graph } from "../graph/graph.js";
import { tensor } from "../host/host-tensor.js";
import { evaluate } from "../reference/evaluate.js";
import { roundEighths } from "./round-eighths.js";

const numbers = Float32Array.from(
  { length: 4096 },
  (_, index) => (index - 2048) * 1.1 ** ((index % 97) - 60),
);
const x = tensor(Float32Array.of(...numbers, 0, -0, Number.NaN, 1e38, Number.POSITIVE_INFINITY));

/** Casts to f8 and back, after a Clip if there is a bound; the codes are a result if they are stored. */
function pair(to: "f8e4m3" | "f8e5m2", { bound, isStored }: { bound?: number; isStored?: true } = {}): Graph {
  const builder = new GraphBuilder();
  const given = builder.input("x", x, "batch");
  const clipped = bound === undefined ? given : builder.emitOne("Clip", [given], { min: -bound, max: bound });
  const codes = builder.emitOne("Cast", [clipped], { to });
  const y = builder.emitOne("Cast", [codes], { to: "f32" });
  return builder.finish(isStored ? { y, codes } : { y });
}

const opsOf = ({ nodes }: Graph): readonly string[] => nodes.map(({ op }) => op);

describe.each(["f8e4m3", "f8e5m2"] as const)("roundEighths to %s", (to) => {
  it("gives the bits of the casts, by arithmetic", () => {
    for (const bound of [undefined, 57_344, 440]) {
      const graph = pair(to, bound === undefined ? {} : { bound });
      const rounded = roundEighths(graph);
      expect(opsOf(rounded)).not.toContain("Cast");
      expect(evaluate(rounded, { x })).toEqual(evaluate(graph, { x }));
    }
  });

  it("asks for numbers beyond the range only where a Clip leaves some", () => {
    expect(opsOf(roundEighths(pair(to)))).toContain("Where");
    expect(opsOf(roundEighths(pair(to, { bound: 448 })))).not.toContain("Where");
  });

  it("keeps a cast whose codes are stored, and rounds before it if asked to", () => {
    const graph = pair(to, { isStored: true });
    for (const ofStored of [false, true]) {
      const rounded = roundEighths(graph, { ofStored });
      expect(opsOf(rounded).filter((op) => op === "Cast")).toHaveLength(1);
      expect(evaluate(rounded, { x })).toEqual(evaluate(graph, { x }));
    }
  });
});

it("roundEighths returns a graph without casts to f8 as it is", () => {
  const builder = new GraphBuilder();
  const graph = builder.finish({ y: builder.emitOne("Abs", [builder.input("x", x, "batch")], {}) });
  expect(roundEighths(graph)).toBe(graph);
});
