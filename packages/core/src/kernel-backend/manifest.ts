import { DTYPES, type DType } from "../dtype.js";
import { MpError } from "../errors.js";
import type { Op } from "../graph/attributes.js";
import { formatType } from "../graph/builder.js";
import type { Graph, ValueType } from "../graph/graph.js";
import { inferRules } from "../graph/infer.js";
import { decidingDType, opDTypes } from "../graph/op-dtypes.js";
import { type BackendManifest, type DTypeSupport, type Support, unsupportedReason } from "../manifest.js";

/** What a backend of kernels says of itself; the rest of its manifest follows from its kernels and dtypes. */
export interface KernelManifest
  extends Omit<BackendManifest, "specVersion" | "dtypes" | "ops" | "profile" | "memory"> {
  /** Dtypes that `upload` can store; the others are unsupported. */
  readonly dtypes: Readonly<Partial<Record<DType, DTypeSupport>>>;
  /** For kernels that do not take every stored dtype their op exists in: those they take. */
  readonly opDTypes?: Readonly<Partial<Record<Op, readonly DType[]>>>;
}

/** The claims of a backend that computes as the vocabulary says, to spread into a `KernelManifest`. */
export const exactNumerics: Pick<
  BackendManifest,
  "accumulate" | "rounding" | "subnormals" | "overflow" | "determinism"
> = {
  accumulate: { f32: "f32", f16: "f32", bf16: "f32" },
  rounding: { f32: "nearest-even", f16: "nearest-even", bf16: "nearest-even" },
  subnormals: { f32: "preserve", f16: "preserve", bf16: "preserve" },
  overflow: { f32: "infinity", f16: "infinity", bf16: "infinity" },
  determinism: true,
};

const OPS = Object.keys(inferRules) as readonly Op[];

/** Total over dtypes and ops: what has no storage or no kernel is unsupported, with that as the reason. */
export function deriveManifest(claims: KernelManifest, hasKernel: (op: Op) => boolean): BackendManifest {
  const { dtypes, opDTypes: narrowed = {}, ...rest } = claims;
  const support = (op: Op): Support<readonly DType[]> => {
    if (!hasKernel(op)) return { unsupported: "no kernel" };
    return (narrowed[op] ?? opDTypes[op]).filter((dtype) => dtypes[dtype] !== undefined);
  };
  return Object.freeze({
    ...rest,
    specVersion: "v1",
    dtypes: Object.fromEntries(
      DTYPES.map((dtype) => [dtype, dtypes[dtype] ?? { unsupported: "no storage" }]),
    ) as BackendManifest["dtypes"],
    ops: Object.fromEntries(OPS.map((op) => [op, support(op)])) as BackendManifest["ops"],
    profile: true,
    memory: true,
  });
}

/** @throws MP_UNSUPPORTED naming the dtype and the manifest's reason */
export function expectDTypeSupported(
  backend: string,
  manifest: BackendManifest,
  type: ValueType,
  what: string,
): void {
  const reason = unsupportedReason(manifest.dtypes[type.dtype]);
  if (reason !== undefined) {
    throw new MpError(
      "MP_UNSUPPORTED",
      `${backend}: ${what} is ${formatType(type)}, ${type.dtype} is unsupported: ${reason}`,
      {
        details: { dtype: type.dtype, reason },
      },
    );
  }
}

/** @throws MP_UNSUPPORTED for the first op or dtype of the graph that the manifest calls unsupported */
export function expectGraphSupported(backend: string, manifest: BackendManifest, graph: Graph): void {
  for (const { name, value } of graph.inputs)
    expectDTypeSupported(backend, manifest, value, `input "${name}"`);
  for (const node of graph.nodes) {
    const support = manifest.ops[node.op];
    const dtype = decidingDType(node);
    const reason =
      unsupportedReason(support) ??
      ((support as readonly DType[]).includes(dtype) ? undefined : `not in ${dtype}`);
    if (reason !== undefined) {
      const { line } = node.origin;
      const place = line === undefined ? "" : ` (at ${line})`;
      throw new MpError(
        "MP_UNSUPPORTED",
        `${backend}: ${node.op} is unsupported: ${reason}, node ${node.name}${place}`,
        {
          details: { op: node.op, dtype, reason, node: node.name },
        },
      );
    }
    for (const output of node.outputs) {
      expectDTypeSupported(backend, manifest, output, `the result of ${node.op}, node ${node.name},`);
    }
  }
}
