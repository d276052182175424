import {
  type BackendManifest,
  type DType,
  decidingDType,
  formatType,
  type Graph,
  isNode,
  OPS,
  type Op,
  opDTypes,
} from "@mp/graph";
import { unsupportedReason } from "@mp/graph/backend";

/** The reason that a manifest gives for not storing a dtype. */
export function missingDType(manifest: BackendManifest, dtype: DType): string | undefined {
  const reason = unsupportedReason(manifest.dtypes[dtype]);
  return reason === undefined ? undefined : `${dtype}: ${reason}`;
}

/** Whether a manifest supports every operator in every dtype. If it does, it supports every graph. */
export function supportsAll({ dtypes, ops }: BackendManifest): boolean {
  const isWhole = (op: Op): boolean => {
    const support: BackendManifest["ops"][Op] = ops[op];
    return !("unsupported" in support) && opDTypes[op].every((dtype) => support.includes(dtype));
  };
  return Object.values(dtypes).every((dtype) => unsupportedReason(dtype) === undefined) && OPS.every(isWhole);
}

/** The first reason that a manifest gives for not running a graph: a missing dtype, op, or op in a dtype. */
export function unsupportedGraph(manifest: BackendManifest, graph: Graph): string | undefined {
  for (const { value } of graph.inputs) {
    const reason = missingDType(manifest, value.dtype);
    if (reason !== undefined) return reason;
  }
  for (const node of graph.nodes) {
    const support = manifest.ops[node.op];
    const reason = unsupportedReason(support);
    if (reason !== undefined) return `${node.op}: ${reason}`;
    const dtype = decidingDType(node);
    if (!(support as readonly DType[]).includes(dtype)) return `${node.op}: not in ${dtype}`;
    for (const output of node.outputs) {
      const missing = missingDType(manifest, output.dtype);
      if (missing !== undefined) return `${node.op} gives ${formatType(output)}, ${missing}`;
    }
    const inBody = isNode(node, "Scan") ? unsupportedGraph(manifest, node.attributes.body) : undefined;
    if (inBody !== undefined) return inBody;
  }
  return undefined;
}
