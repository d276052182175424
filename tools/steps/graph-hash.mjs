import { createHash } from "node:crypto";

/** @param {string | Uint8Array} content */
export const shortHash = (content) => createHash("sha256").update(content).digest("hex").slice(0, 16);

/**
 * The hash of what a graph computes: operators, attributes, constants, and the names and types of inputs and outputs.
 * Names of nodes and values, scopes and lines do not count.
 * @param {any} graph
 * @returns {string}
 */
export function graphHash(graph) {
  return shortHash(JSON.stringify(plainGraph(graph)));
}

/** @param {any} graph */
function plainGraph({ inputs, nodes, outputs }) {
  /** @type {Map<unknown, number>} */
  const numbers = new Map();
  /** @param {any} value */
  const valueNumber = (value) => {
    const known = numbers.get(value);
    if (known !== undefined) return known;
    numbers.set(value, numbers.size);
    return [numbers.size - 1, value.dtype, value.shape];
  };
  return {
    inputs: inputs.map((/** @type {any} */ { name, role, value }) => [name, role, valueNumber(value)]),
    nodes: nodes.map((/** @type {any} */ { op, inputs, outputs, attributes }) => [
      op,
      inputs.map(valueNumber),
      outputs.map(valueNumber),
      plainAttribute(attributes),
    ]),
    outputs: outputs.map((/** @type {any} */ { name, value }) => [name, valueNumber(value)]),
  };
}

/**
 * @param {any} value
 * @returns {unknown}
 */
function plainAttribute(value) {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
  if (ArrayBuffer.isView(value))
    return shortHash(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  if (Array.isArray(value)) return value.map(plainAttribute);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value.nodes)) return plainGraph(value);
  return Object.keys(value)
    .sort()
    .map((key) => [key, plainAttribute(value[key])]);
}
