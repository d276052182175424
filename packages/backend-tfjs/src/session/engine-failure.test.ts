import { GraphBuilder, MpError } from "@mp/graph";
import { expect, test } from "vitest";
import { engineFailure, explainFailure } from "./engine-failure.js";

const said = new Error(
  "Session fail to run with error: indices = 7 is not in [0, 2)\n\t [[{{node program0/Gather/GatherV2}}]]",
);

test("the engine's words are kept, without its brackets", () => {
  const { code, message, cause } = engineFailure("the run failed", said);
  expect([code, message]).toEqual([
    "MP_BACKEND_FAILED",
    "tfjs: the run failed: indices = 7 is not in [0, 2)",
  ]);
  expect(cause).toBe(said);
});

test("memory that is not to be had has its own code", () => {
  const error = new Error("Session fail to run with error: OOM when allocating tensor with shape[1000000]");
  expect(engineFailure("the run failed", error).code).toBe("MP_OUT_OF_MEMORY");
});

test("the engine's node becomes the graph's, with the user's line", () => {
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: "f32", shape: [2] }, "batch");
  const origin = { scope: "", phase: "forward", line: "model.ts:3:5" } as const;
  const y = builder.emitOne("Exp", [x], {}, origin);
  const graph = builder.finish({ y });
  const name = graph.nodes[0]?.name as string;
  const explained = explainFailure(engineFailure("the run failed", said), graph, () => name);
  expect(String(explained)).toContain(`in node ${name} (at model.ts:3:5)`);
  expect(MpError.is(explained) && explained.details).toMatchObject({ node: name });
});
