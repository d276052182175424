import { type Graph, MpError } from "@mp/graph";
import { failureInNode } from "@mp/onnx-lowering";

/** The engine's failure of a run, in terms of the graph. */
export function explainRunFailure(
  error: unknown,
  graph: Graph,
  nodeOf: (sessionNode: string) => string,
): unknown {
  if (!MpError.is(error)) return error;
  // An engine error about arguments is about data that was accepted here.
  const isOfArguments = error.code === "MP_INVALID_ARGUMENT" || error.code === "MP_UNSUPPORTED";
  return failureInNode(error, graph, nodeOf, isOfArguments ? "MP_BACKEND_FAILED" : error.code);
}
