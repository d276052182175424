import { type Graph, type HostTensor, MpError } from "@mp/graph";
import { expectModel } from "../expect-model.js";
import { bodiesOf, type OnnxGraph, type OnnxModel, type OnnxNode } from "../model.js";
import { OWN_DOMAIN, OWN_VERSION } from "../own-domain.js";
import { quote } from "../problem.js";
import { expectWithin } from "../read-limits.js";
import { GraphReader } from "./graph-reader.js";
import type { InitializerRole } from "./initializer-roles.js";
import type { ReadOptions } from "./read-options.js";
import { printWarning, warnOfRoles } from "./read-warnings.js";
import { findReader } from "./readers.js";
import { unchangedSince } from "./unchanged-since-table.js";

export interface ReadModel {
  /** The graph. Parameters are inputs under their own names, after the inputs of the model. */
  readonly graph: Graph;
  /** The values of the parameters that the graph uses. */
  readonly parameters: Readonly<Record<string, HostTensor>>;
  /**
   * Whether each float initializer is a parameter or a constant, and why, in the order of the file; then the same for
   * each float Constant node that is not a scalar.
   */
  readonly initializers: readonly InitializerRole[];
}

/**
 * The oldest operator set that is fully supported. Of models with an older set, only operators that have not changed
 * since are read; other operators encode axes and more differently.
 */
const OLDEST_OPSET = 13;

/**
 * The newest operator set that was checked. Since 13, the operators that are read have only gained element
 * types, attributes and operands; nodes that use unknown attributes or operands are refused.
 */
const NEWEST_OPSET = 28;

/**
 * Reads a standard ONNX model as a graph. Initializers such as axes and shapes become attributes, nodes that depend
 * only on small constants are evaluated, indices become i32.
 * @throws MP_UNSUPPORTED naming op, version and node, for anything outside the op set
 * @throws MP_PARSE for a model that contradicts itself
 * @throws MP_OUT_OF_RANGE for a graph that exceeds `limits`
 * @throws MP_INVALID_ARGUMENT if `sizes` lacks a size, and for a value that is not a model
 */
export function readGraph(model: OnnxModel, options: ReadOptions = {}): ReadModel {
  expectModel("readGraph", model);
  expectVersions(model);
  const warn = options.onWarning ?? printWarning;
  const reader = new GraphReader(model, { ...options, onWarning: warn });
  const graph = reader.read();
  expectWithin(graph, options.limits);
  warnOfRoles(reader.roles, warn);
  return { graph, parameters: Object.fromEntries(reader.parameters), initializers: reader.roles };
}

/** @throws MP_UNSUPPORTED for a model of a newer opset, or of an older one with operators that have changed since */
export function expectVersions(model: OnnxModel): void {
  const version = model.opsets[""];
  if (version !== undefined) {
    const changed = version < OLDEST_OPSET ? firstChanged(model.graph, version) : undefined;
    if (version > NEWEST_OPSET || changed !== undefined) {
      const which = changed === undefined ? "" : `, where ${quote(changed)} is not what it is now`;
      throw new MpError(
        "MP_UNSUPPORTED",
        `onnx: the model is of opset ${version}${which}, convert it to one of ${OLDEST_OPSET} … ${NEWEST_OPSET} (onnx.version_converter)`,
        { details: { version } },
      );
    }
  }
  const own = model.opsets[OWN_DOMAIN];
  if (own !== undefined && own !== OWN_VERSION) {
    throw new MpError(
      "MP_UNSUPPORTED",
      `onnx: ${OWN_DOMAIN} ${own} is unknown, this package has ${OWN_VERSION}`,
      {
        details: { version: own },
      },
    );
  }
}

/** The first operator of the graph that can be read, but that this older version defines differently. */
function firstChanged({ nodes }: OnnxGraph, version: number): string | undefined {
  // Operators that are not read in any version are refused with their nodes.
  const isChanged = ({ domain, opType }: OnnxNode): boolean =>
    findReader(domain, opType) !== undefined && (unchangedSince.get(opType) ?? OLDEST_OPSET) > version;
  for (const node of nodes) {
    if (isChanged(node)) return node.opType;
    for (const body of bodiesOf(node)) {
      const inside = firstChanged(body, version);
      if (inside !== undefined) return inside;
    }
  }
  return undefined;
}
