import {
  type BackendManifest,
  type DTypeSupport,
  type Support,
  unsupportedReason,
} from "../contract/manifest.js";
import { DTYPES, type DType } from "../dtype.js";
import { MpError } from "../errors.js";
import type { Op } from "../graph/attributes.js";
import { deepNodes } from "../graph/build/with-bodies.js";
import { formatType } from "../graph/format-type.js";
import type { AnyNode, Graph, ValueType } from "../graph/graph.js";
import { inferRules } from "../graph/infer/infer.js";
import { decidingDType, opDTypes } from "../graph/op-dtypes.js";
import { opTable } from "../graph/op-table.js";
import type { HostTensor } from "../host/host-tensor.js";
import { expectHostTensor, expectNamed } from "./check-tensor.js";

/** The declarations of a kernel backend; the rest of its manifest follows from its kernels and dtypes. */
export interface KernelManifest
  extends Omit<BackendManifest, "specVersion" | "dtypes" | "ops" | "profile" | "memory" | "adopt"> {
  /** Dtypes that `upload` can store; other dtypes are unsupported. */
  readonly dtypes: Readonly<Partial<Record<DType, DTypeSupport>>>;
  /** The dtypes that a kernel accepts, for an op whose kernel does not accept every dtype that the backend stores. */
  readonly opDTypes?: Readonly<Partial<Record<Op, readonly DType[]>>>;
}

/** The manifest entries of a backend that computes each op exactly as defined, to spread into a `KernelManifest`. */
export const exactNumerics: Pick<
  BackendManifest,
  "accumulate" | "rounding" | "subnormals" | "overflow" | "determinism"
> = {
  accumulate: { default: { f32: "f32", f16: "f32", bf16: "f32" } },
  rounding: { f32: "nearest-even", f16: "nearest-even", bf16: "nearest-even" },
  subnormals: { f32: "preserve", f16: "preserve", bf16: "preserve" },
  overflow: { f32: "infinity", f16: "infinity", bf16: "infinity" },
  determinism: true,
};

const OPS = Object.keys(inferRules) as readonly Op[];

/** Returns why an engine does not support an op in a dtype; undefined if it does. */
export type Missing = (op: Op, dtype: DType) => string | undefined;

/**
 * Makes a manifest's `ops`. `missing` gives the reason for each op and dtype that the engine lacks, and for `Identity`
 * in a dtype that the engine cannot store. Ops with `parts` in the op table are unsupported; declare their kernels
 * separately.
 */
export function opSupport(missing: Missing): BackendManifest["ops"] {
  const support = (op: Op): Support<readonly DType[]> => {
    const { parts } = opTable[op];
    if (parts !== undefined) return { unsupported: parts };
    const isThere = (dtype: DType): boolean =>
      missing(op, dtype) === undefined && missing("Identity", dtype) === undefined;
    const dtypes = opDTypes[op].filter(isThere);
    if (dtypes.length > 0) return dtypes;
    const reasons = opDTypes[op].flatMap((dtype) => missing(op, dtype) ?? []);
    return { unsupported: reasons[0] ?? "none of its dtypes is stored" };
  };
  return Object.fromEntries(OPS.map((op) => [op, support(op)])) as BackendManifest["ops"];
}

/** Completes a manifest: marks dtypes without storage and ops without a kernel as unsupported, with the reason. */
export function deriveManifest(claims: KernelManifest, hasKernel: (op: Op) => boolean): BackendManifest {
  const { dtypes, opDTypes: narrowed = {}, ...rest } = claims;
  const support = (op: Op): Support<readonly DType[]> => {
    if (!hasKernel(op)) return { unsupported: "no kernel" };
    const taken = narrowed[op] ?? opDTypes[op];
    const stored = taken.filter((dtype) => dtypes[dtype] !== undefined);
    return stored.length > 0 ? stored : { unsupported: `takes ${taken.join(", ") || "nothing"}, no storage` };
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
  const problem = dtypeProblem(manifest, type, what);
  if (problem !== undefined) throw refusal(backend, [problem]);
}

/**
 * Checks the initial values of a state and returns them.
 * @throws MP_UNSUPPORTED, MP_INVALID_ARGUMENT, MP_DTYPE_MISMATCH or MP_SHAPE_MISMATCH, naming the slot
 */
export function expectStateSupported(
  backend: string,
  manifest: BackendManifest,
  values: Readonly<Record<string, HostTensor>>,
): Readonly<Record<string, HostTensor>> {
  const checked = expectNamed("createState", values).map(([name, value]) => {
    const what = `state "${name}"`;
    const own = expectHostTensor(what, value);
    expectDTypeSupported(backend, manifest, own, what);
    return [name, own] as const;
  });
  return Object.fromEntries(checked);
}

/** An op or dtype of a graph that the manifest calls unsupported. */
interface Problem {
  /** Name of the op or dtype. */
  readonly subject: string;
  readonly reason: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Number of problems that a message names; the error's details have all of them. */
const NAMED = 4;

/**
 * @throws MP_UNSUPPORTED for ops and dtypes of the graph that the manifest does not support: the message has the
 *   first problem with its node and line and the names of the next few, `details.unsupported` has all problems
 */
export function expectGraphSupported(backend: string, manifest: BackendManifest, graph: Graph): void {
  const problems = new Map<string, Problem>();
  const note = (problem: Problem | undefined): void => {
    if (problem === undefined) return;
    const key = `${problem.subject} ${problem.reason}`;
    if (!problems.has(key)) problems.set(key, problem);
  };
  for (const { name, value } of graph.inputs) note(dtypeProblem(manifest, value, `input "${name}"`));
  for (const node of deepNodes(graph)) {
    note(opProblem(manifest, node));
    for (const output of node.outputs) {
      note(dtypeProblem(manifest, output, `the result of ${node.op}, node ${node.name},`));
    }
  }
  if (problems.size > 0) throw refusal(backend, [...problems.values()]);
}

function dtypeProblem({ dtypes }: BackendManifest, type: ValueType, what: string): Problem | undefined {
  const { dtype } = type;
  const reason = unsupportedReason(dtypes[dtype]);
  if (reason === undefined) return undefined;
  const message = `${what} is ${formatType(type)}, ${dtype} is unsupported: ${reason}`;
  return { subject: dtype, reason, message, details: { dtype, reason } };
}

function opProblem({ ops }: BackendManifest, node: AnyNode): Problem | undefined {
  const { op, name } = node;
  const { line } = node.origin;
  const support = ops[op];
  const dtype = decidingDType(node);
  const reason =
    unsupportedReason(support) ??
    ((support as readonly DType[]).includes(dtype) ? undefined : `not in ${dtype}`);
  if (reason === undefined) return undefined;
  const location = line === undefined ? "" : ` (at ${line})`;
  const message = `${op} is unsupported: ${reason}, node ${name}${location}`;
  const details = { op, dtype, reason, node: name, ...(line === undefined ? {} : { line }) };
  return { subject: op, reason, message, details };
}

function refusal(backend: string, problems: readonly Problem[]): MpError<"MP_UNSUPPORTED"> {
  const [first, ...rest] = problems;
  const named = rest.slice(0, NAMED - 1).map(({ subject, reason }) => `${subject} (${reason})`);
  const more = rest.length > named.length ? ` and ${rest.length - named.length} more` : "";
  const others = named.length === 0 ? "" : `; so are ${named.join(", ")}${more}`;
  return new MpError("MP_UNSUPPORTED", `${backend}: ${first?.message}${others}`, {
    details: { ...first?.details, unsupported: problems.map(({ details }) => details) },
  });
}
