import { type Graph, MpError } from "@mp/graph";

const NODE = /\{\{(?:function_)?node ([^}]+)\}\}/;
const OUT_OF_MEMORY = /OOM when allocating|Resource exhausted|RESOURCE_EXHAUSTED|failed to allocate/i;

/** Makes an error of a failure of the engine, with the first line of the engine's message. */
export function engineFailure(what: string, cause: unknown): MpError {
  const said = cause instanceof Error ? cause.message : String(cause);
  const [, node] = NODE.exec(said) ?? [];
  const lines = said.replace(/^Session fail to run with error: /, "").split("\n");
  const message = (lines[0] ?? "").trim();
  const code = OUT_OF_MEMORY.test(said) ? "MP_OUT_OF_MEMORY" : "MP_BACKEND_FAILED";
  return new MpError(code, `tfjs: ${what}: ${message}`, {
    cause,
    details: node === undefined ? {} : { engineNode: node },
  });
}

/** Adds to an engine's failure the graph node, and the line of user code that created the node. */
export function explainFailure(
  error: unknown,
  graph: Graph,
  nodeOf: (engineNode: string) => string | undefined,
): unknown {
  if (!MpError.is(error)) return error;
  const { engineNode } = error.details as { readonly engineNode?: string };
  const name = engineNode === undefined ? undefined : nodeOf(engineNode);
  const node = graph.nodes.find((candidate) => candidate.name === name);
  if (node === undefined) return error;
  const { line } = node.origin;
  return new MpError(
    error.code,
    `${error.message}, in node ${node.name}${line === undefined ? "" : ` (at ${line})`}`,
    { details: { ...error.details, node: node.name }, cause: error },
  );
}
