import { MpError } from "../../errors.js";
import { sameShape } from "../../shape.js";
import { formatType } from "../format-type.js";
import type { AnyNode, Graph, Value } from "../graph.js";
import { inferRules, inferTypes } from "../infer/infer.js";
import { isGraph } from "../is-graph.js";

/**
 * Checks that an engine can run a graph: every value is defined once and before it is read, types are those that
 * inference gives, and names are unique. Graphs from the builder and from transforms always pass; the check is for
 * graphs from other sources and for tests of code that makes graphs.
 * @throws MP_INVALID_ARGUMENT naming the node, input or output that is wrong
 */
export function validateGraph(graph: Graph): void {
  const made = new Set<Value>();
  const ids = new Set<number>();
  const define = (value: Value, what: string): void => {
    if (made.has(value)) throw invalid(`${what} is a value that is made already`);
    if (ids.has(value.id)) throw invalid(`${what} has the id %${value.id} of another value`);
    if (value.shape.some((dimension) => !Number.isSafeInteger(dimension) || dimension < 0)) {
      throw invalid(`${what} is ${formatType(value)}, dimensions must be integers ≥ 0`);
    }
    made.add(value);
    ids.add(value.id);
  };

  expectUnique(graph.inputs, "inputs");
  expectUnique(graph.nodes, "nodes");
  expectUnique(graph.outputs, "outputs");
  for (const { name, value } of graph.inputs) define(value, `input "${name}"`);
  for (const node of graph.nodes) {
    if (!(node.op in inferRules)) throw invalid(`node ${node.name} is of an unknown op ${node.op}`);
    node.inputs.forEach((input, index) => {
      if (!made.has(input)) throw invalid(`node ${node.name} reads operand ${index} before it is made`);
    });
    for (const value of Object.values(node.attributes)) if (isGraph(value)) validateGraph(value);
    expectInferred(node);
    node.outputs.forEach((output, index) => {
      define(output, `output ${index} of node ${node.name}`);
    });
  }
  for (const { name, value } of graph.outputs) {
    if (!made.has(value)) throw invalid(`output "${name}" is a value that nothing makes`);
  }
}

function invalid(message: string, cause?: unknown): MpError<"MP_INVALID_ARGUMENT"> {
  return new MpError("MP_INVALID_ARGUMENT", `graph: ${message}`, cause === undefined ? {} : { cause });
}

function expectUnique(items: readonly { readonly name: string }[], what: string): void {
  const names = new Set<string>();
  for (const { name } of items) {
    if (names.has(name)) throw invalid(`two ${what} are named "${name}"`);
    names.add(name);
  }
}

function expectInferred(node: AnyNode): void {
  let types: ReturnType<typeof inferTypes>;
  try {
    types = inferTypes(node.op, node.inputs, node.attributes);
  } catch (error) {
    if (!MpError.is(error)) throw error;
    throw invalid(`node ${node.name}: ${error.message}`, error);
  }
  if (types.length !== node.outputs.length) {
    throw invalid(`node ${node.name} has ${node.outputs.length} outputs, ${node.op} gives ${types.length}`);
  }
  types.forEach((type, index) => {
    const output = node.outputs[index] as Value;
    if (output.dtype !== type.dtype || !sameShape(output.shape, type.shape)) {
      throw invalid(
        `output ${index} of node ${node.name} says ${formatType(output)}, inference gives ${formatType(type)}`,
      );
    }
  });
}
