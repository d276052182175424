import { GraphBuilder, type Shape } from "@mp/graph";
import { expect, test } from "vitest";
import { RunOrder } from "./run-order.js";
import { ScopeWriter } from "./scope-writer.js";

/** The nodes that each node waits for, for independent nodes with these shapes. */
function waits(shapes: readonly Shape[]): readonly (readonly string[])[] {
  const builder = new GraphBuilder();
  const writer = new ScopeWriter("p");
  const order = new RunOrder(writer);
  for (const [index, shape] of shapes.entries()) {
    const x = builder.input(`x${index}`, { dtype: "f32", shape }, "batch");
    builder.emitOne("Exp", [x], {});
    writer.enter(`n${index}`);
    order.begin();
    writer.one("Mul", [writer.one("Exp", [`x${index}`]), `x${index}`]);
    order.end(builder.nodes.at(-1) as (typeof builder.nodes)[number]);
  }
  return writer.nodes.map(({ input }) => input.filter((name) => name.startsWith("^")));
}

test("a heavy node waits for the fourth before it, with all that it is made of", () => {
  const large = [128, 128];
  expect(waits([large, large, large, large, large, large])).toEqual([
    [], [],
    [], [],
    [], [],
    [], [],
    ["^p/n0/Mul"], [],
    ["^p/n1/Mul"], [],
  ]); // biome-ignore format: a node a line
});

test("small ones run when they can, and count for nothing", () => {
  const [large, small] = [[128, 128], [2]];
  const edges = waits([large, small, large, small, large, large, large]);
  expect(edges.map((list) => list.length)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
  expect(edges[12]).toEqual(["^p/n0/Mul"]);
});
