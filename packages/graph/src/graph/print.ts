import type { HostTensor } from "../host/host-tensor.js";
import { formatType } from "./format-type.js";
import type { Graph, Value } from "./graph.js";
import { isGraph } from "./is-graph.js";

/**
 * A graph as text with stable names (%0, %1, … in order of definition), for snapshots and for people. One line per
 * node: outputs, op, operands, attributes, then scope and phase where they are not the default. The body of a loop
 * follows its node, indented, with names of its own.
 */
export function printGraph(graph: Graph): string {
  return `${printLines(graph).join("\n")}\n`;
}

function printLines(graph: Graph): readonly string[] {
  const names = new Map<Value, string>();
  const valueName = (value: Value): string => {
    const known = names.get(value);
    if (known !== undefined) return known;
    const name = `%${names.size}`;
    names.set(value, name);
    return name;
  };
  const lines: string[] = [];
  for (const input of graph.inputs) {
    lines.push(`${valueName(input.value)} = ${input.role} "${input.name}" : ${formatType(input.value)}`);
  }
  for (const node of graph.nodes) {
    const operands = node.inputs.map(valueName).join(", ");
    const attributes = Object.entries(node.attributes)
      .filter(([, value]) => !isGraph(value))
      .map(([key, value]) => `${key}=${formatAttribute(value)}`)
      .join(" ");
    const outputs = node.outputs.map((output) => `${valueName(output)}:${formatType(output)}`).join(", ");
    const { scope, phase, segment } = node.origin;
    const location = [
      scope,
      phase === "forward" ? "" : phase,
      segment === undefined ? "" : `segment ${segment}`,
    ];
    const comment = location.filter((part) => part !== "").join(", ");
    lines.push(
      `${outputs} = ${node.op}(${operands})${attributes === "" ? "" : ` {${attributes}}`}${comment === "" ? "" : `  # ${comment}`}`,
    );
    for (const [key, value] of Object.entries(node.attributes)) {
      if (isGraph(value)) lines.push(`  ${key}:`, ...printLines(value).map((line) => `    ${line}`));
    }
  }
  for (const output of graph.outputs) lines.push(`return "${output.name}" ${valueName(output.value)}`);
  return lines;
}

function formatAttribute(value: unknown): string {
  if (typeof value === "bigint") return `0x${value.toString(16)}`;
  if (Array.isArray(value)) return `[${value.join(",")}]`;
  if (typeof value === "object" && value !== null && "data" in value)
    return formatTensor(value as HostTensor);
  return Object.is(value, -0) ? "-0" : String(value);
}

function formatTensor(tensor: HostTensor): string {
  const { data } = tensor;
  const shown: string[] = [];
  for (let index = 0; index < Math.min(4, data.length); index++) {
    shown.push(Object.is(data[index], -0) ? "-0" : String(data[index]));
  }
  return `${formatType(tensor)}(${shown.join(",")}${data.length > shown.length ? ",…" : ""})`;
}
