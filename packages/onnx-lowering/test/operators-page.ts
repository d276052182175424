/** docs/webgpu-operators.md: what the WebGPU provider lacks of the vocabulary, and what is done instead. */
import { type DType, type Op, opDTypes, opTable } from "@mp/graph";
import { pairKey } from "@mp/graph/backend";
import { decodeModel } from "@mp/onnx";
import { lowerGraph } from "../src/lower.js";
import type { Findings } from "../src/probe/findings.js";
import { targetOf } from "../src/probe/findings.js";
import { probeGraph } from "../src/probe/probe-graph.js";

const OPS = (Object.entries(opDTypes) as readonly (readonly [Op, readonly DType[]])[]).filter(
  ([op]) => opTable[op].parts === undefined,
);

/** Operators with the same entry in one row. */
function rows(entries: readonly (readonly [entry: string, op: string])[]): readonly string[] {
  const byEntry = new Map<string, string[]>();
  for (const [entry, op] of entries) byEntry.set(entry, [...(byEntry.get(entry) ?? []), op]);
  return [...byEntry].map(([entry, ops]) => `| ${ops.map((op) => `\`${op}\``).join(", ")} | ${entry} |`);
}

/** Why an op is not computed in some dtypes. Dtypes that the device lacks altogether have a table of their own. */
function refusals({ missing }: Findings, unused: ReadonlySet<DType>): readonly string[] {
  return rows(
    OPS.flatMap(([op, dtypes]) => {
      const reasons = new Map<string, DType[]>();
      for (const dtype of dtypes) {
        const reason = missing.get(pairKey({ op, dtype }));
        if (reason === undefined || unused.has(dtype)) continue;
        reasons.set(reason, [...(reasons.get(reason) ?? []), dtype]);
      }
      return [...reasons].map(([reason, some]) => [`${some.join(", ")} | ${reason}`, op] as const);
    }),
  );
}

function unusedDTypes({ missing }: Findings): readonly (readonly [DType, string])[] {
  const dtypes = ["f16", "bf16", "f8e4m3", "f8e5m2", "u64"] as const;
  return dtypes.flatMap((dtype) => {
    const reason = missing.get(pairKey({ op: "Identity", dtype }));
    return reason === undefined ? [] : [[dtype, reason] as const];
  });
}

/** Nodes of ONNX that are written for the probe's nodes of an op, for each of these; 0 if it is refused. */
function nodesFor(findings: Findings, op: Op, dtype: DType): number {
  if (findings.missing.has(pairKey({ op, dtype }))) return 0;
  const graph = probeGraph([{ op, dtype }]);
  const asked = graph.nodes.filter((node) => node.op === op).length;
  const target = targetOf(findings);
  const { nodes } = decodeModel(lowerGraph(graph, target).model, { readAs: { UINT32: "i64" } }).graph;
  const made = nodes.filter(({ opType }) => opType !== "Constant").length;
  return Math.round(made / asked);
}

/** Operators that take the most nodes first. */
function compositions(findings: Findings): readonly string[] {
  const counted = OPS.flatMap(([op, dtypes]) => {
    const [dtype] = dtypes;
    if (dtype === undefined) return [];
    const nodes = nodesFor(findings, op, dtype);
    return nodes > 1 ? [{ op, dtype, nodes }] : [];
  }).sort((a, b) => b.nodes - a.nodes);
  return rows(counted.map(({ op, dtype, nodes }) => [`${dtype} | ${nodes}`, op]));
}

/** The page for what was found of the engine. */
export function operatorsPage(findings: Findings): string {
  const unused = unusedDTypes(findings);
  const widened = OPS.filter(([op]) => findings.widened.has(pairKey({ op, dtype: "f16" })));
  return `${[
    "# WebGPU, operator by operator",
    "What ONNX Runtime 1.30's WebGPU provider lacks of what the processor and CUDA compute, and what is done instead. Everything else runs as one kernel of the provider. A test of `@mp/onnx-lowering` writes this page from the tables that lowering uses (`npx vitest run -u test/operators-page.test.ts` in its folder), and a test of `@mp/backend-ort` on software Vulkan holds these tables to what the provider does.",
    "## Dtypes",
    "i64 is held as i32 on the device: numbers beyond it are refused when they are uploaded, and results wrap. float16 needs an adapter with `shader-f16`. These dtypes are refused:",
    ["| dtype | why |", "|---|---|", ...unused.map(([dtype, reason]) => `| ${dtype} | ${reason} |`)].join(
      "\n",
    ),
    "## Refused operators",
    [
      "| operators | dtypes | why |",
      "|---|---|---|",
      ...refusals(findings, new Set(unused.map(([d]) => d))),
    ].join("\n"),
    "## float16 that is computed in float32",
    `The provider accumulates in float16, so that sums and products would lose what float32 keeps; WGSL's functions of float16 are off by several units in the last place. The values stay float16 in memory; casts stand around the kernel: ${widened.map(([op]) => `\`${op}\``).join(", ")}.`,
    "## Several kernels in place of one",
    "For the smallest nodes of each operator, in the dtype given: how many nodes of ONNX run. One of them writes the result, so that 2 means one kernel. In the others the provider has no kernel (`Or`, `IsNaN`, `OneHot`, cross entropy, …), drops NaN (`Relu`, `Clip`, `Softmax`, `MaxPool`), loses digits (`Exp`, `Log`, `Pow`, `Tanh`, `Erf` of float32, `LayerNormalization`), or gets shapes wrong (`BatchNormalization` of two axes, convolutions in groups).",
    ["| operators | dtype | nodes |", "|---|---|---|", ...compositions(findings)].join("\n"),
    "## Also different",
    [
      "- An index outside its axis does not fail a run, as it does on the processor: a shader cannot.",
      "- Scatters add what they bring to one place in any order, as the gradient of an embedding does, so results are not the same bits in every run.",
      "- Convolutions leave out the products of infinities and NaN with the zeros of the padding (`nonFiniteConvolution` in the manifest).",
      "- Results and scattered data are written by shaders: when the provider replays recorded commands, it leaves out copies of buffers.",
    ].join("\n"),
  ].join("\n\n")}\n`;
}
