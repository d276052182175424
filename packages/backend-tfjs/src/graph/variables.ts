/** Makes the variables of a session, one per slot or large constant, each with nodes to read and write it. */
import type { ValueType } from "@mp/graph";
import { shape, string, type } from "./attributes.js";
import { receive, send } from "./edges.js";
import type { NodeInit } from "./node-def.js";
import { ScopeWriter } from "./scope-writer.js";

export interface Variable {
  /** The placeholder to feed; undefined for a variable without elements, which still must be initialized. */
  readonly fed: string | undefined;
  /** A scalar to fetch, which is computed after the variable has been written. */
  readonly written: string;
  /** The value in wire format; undefined for a variable without elements. */
  readonly read: string | undefined;
}

export function variableNodes(variables: Iterable<readonly [key: string, type: ValueType]>): {
  readonly nodes: readonly NodeInit[];
  readonly variables: ReadonlyMap<string, Variable>;
} {
  const writer = new ScopeWriter("variable");
  const made = [...variables].map(([key, value]) => [key, variable(writer, key, value)] as const);
  return { nodes: writer.nodes, variables: new Map(made) };
}

function variable(writer: ScopeWriter, key: string, value: ValueType): Variable {
  writer.enter(undefined, key);
  const dtype = type(value.dtype);
  const handle = writer.one("VarHandleOp", [], {
    dtype,
    shape: shape(value.shape),
    shared_name: string(key),
  });
  const { fed, name } = receive(writer, value);
  const assigned = writer.one("AssignVariableOp", [handle, name], { dtype });
  const written = writer.one(
    "Identity",
    [writer.scalar(1, "i32")],
    { T: type("i32") },
    { after: [assigned] },
  );
  const read = send(writer, writer.one("ReadVariableOp", [handle], { dtype }), value);
  return { fed, written, read };
}
