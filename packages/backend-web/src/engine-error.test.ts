import { GraphBuilder, MpError } from "@mp/graph";
import { failureInNode } from "@mp/onnx-lowering";
import { expect, it } from "vitest";
import { engineError } from "./engine-error.js";

it.each([
  ["failed to call OrtRun(). ERROR_CODE: 6, ERROR_MESSAGE: std::bad_alloc", "MP_OUT_OF_MEMORY"],
  ["ERROR_CODE: 2, ERROR_MESSAGE: indices element out of data bounds, idx=9", "MP_OUT_OF_RANGE"],
  [
    "ERROR_CODE: 9, ERROR_MESSAGE: Could not find an implementation for Foo(1) node with name 'n'",
    "MP_UNSUPPORTED",
  ],
  ["ERROR_CODE: 1, ERROR_MESSAGE: something else", "MP_BACKEND_FAILED"],
])("%s is %s", (message, code) => {
  expect(engineError("run", new Error(message))).toMatchObject({ code });
});

it("names the node of the graph that failed", () => {
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: "f32", shape: [2] }, "batch");
  const graph = builder.finish({ y: builder.emitOne("Exp", [x], {}) });
  const name = graph.nodes[0]?.name as string;
  const failure = engineError("run", new Error("while running Exp node. Name:'Exp_part' Status Message: no"));
  const explained = failureInNode(failure, graph, () => name);
  expect(explained).toMatchObject({ code: "MP_BACKEND_FAILED", details: { node: name } });
  expect((explained as MpError).message).toContain(`in node ${name}`);
  const other = new MpError("MP_DISPOSED", "gone");
  expect(failureInNode(other, graph, () => name)).toBe(other);
});
