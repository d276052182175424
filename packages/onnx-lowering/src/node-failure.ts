import { type ErrorCode, type Graph, MpError } from "@mp/graph";

/** How ONNX Runtime names the node that failed. */
const NODE = /Name:\s?'([^']*)'/;

/**
 * The engine's failure of a run, in terms of the graph: the node, and the line of user code that created it. The error
 * itself where its message names no node of the graph and its code stays.
 * @param nodeOf the graph's node of a node of the session
 */
export function failureInNode(
  error: MpError,
  graph: Graph,
  nodeOf: (sessionNode: string) => string,
  code: ErrorCode = error.code,
): MpError {
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
