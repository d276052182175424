import { MpError } from "@mp/core";
import type { Graph } from "@mp/core/graph";

const NODE = /Name:\s?'([^']*)'/;

/** The engine's failure of a run, in terms of the graph: the node, and the line of user code that created it. */
export function explainRunFailure(
  error: unknown,
  graph: Graph,
  nodeOf: (sessionNode: string) => string,
): unknown {
  if (!MpError.is(error)) return error;
  // An engine error about arguments is about data that was accepted here.
  const code =
    error.code === "MP_INVALID_ARGUMENT" || error.code === "MP_UNSUPPORTED"
      ? "MP_BACKEND_FAILED"
      : error.code;
  const [, sessionNode] = NODE.exec(error.message) ?? [];
  const name = sessionNode === undefined ? undefined : nodeOf(sessionNode);
  const node = graph.nodes.find((candidate) => candidate.name === name);
  if (node === undefined) {
    return code === error.code
      ? error
      : new MpError(code, error.message, { details: error.details, cause: error });
  }
  const { line } = node.origin;
  return new MpError(
    code,
    `${error.message}, in node ${node.name}${line === undefined ? "" : ` (at ${line})`}`,
    { details: { ...error.details, node: node.name }, cause: error },
  );
}
