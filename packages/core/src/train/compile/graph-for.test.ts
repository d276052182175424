import { reference } from "@mp/graph/reference";
import { expect, it } from "vitest";
import { graphOfOp } from "../../../../graph/test/evaluate-op.js";
import { graphFor } from "./graph-for.js";

it("expands attention, also in loops, where the backend has no kernel for it", async () => {
  const backend = await reference();
  const { manifest } = backend;
  await backend.dispose();
  const lacking = { ...manifest, ops: { ...manifest.ops, Attention: { unsupported: "no kernel" } } };
  const type = { dtype: "f32", shape: [1, 2, 3, 4] } as const;
  const attention = graphOfOp("Attention", [type, type, type], { scale: 1, isCausal: true, softcap: 0 });
  const counts = { carries: 1, sequences: 0, length: 4, reverse: false, saved: 0 };
  const loop = graphOfOp("Scan", [type, type, type], { body: attention, ...counts });
  for (const graph of [attention, loop]) {
    expect(graphFor(graph, manifest)).toBe(graph);
    const text = JSON.stringify(graphFor(graph, lacking).nodes);
    expect(text).toContain('"op":"Softmax"');
    expect(text).not.toContain('"op":"Attention"');
  }
});
