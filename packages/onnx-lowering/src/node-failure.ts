import { type ErrorCode, type Graph, MpError } from "@mp/graph";

/** Matches the node's name in ONNX Runtime's error messages. */
const NODE = /Name:\s?'([^']*)'/;

/**
 * Adds to an engine's error the graph node that failed, and the line of user code that created the node.
 * Returns the error itself if its message names no node of the graph and the code stays the same.
 * @param nodeOf returns the name of the graph node for a node of the session
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
