import { allCases, runConformance } from "@mp/conformance";
import {
  type BackendManifest,
  type Graph,
  type HostTensor,
  printGraph,
  type ValueType,
  zeros,
} from "@mp/graph";
import { defineBackend } from "@mp/graph/backend";
import { NATIVE } from "../../src/manifest.js";

const NO = { unsupported: "nothing runs" } as const;

const manifest: BackendManifest = {
  ...NATIVE,
  engine: { name: "none", version: "0" },
  device: "other",
  profile: NO,
  memory: NO,
};

/** A backend that compiles nothing and returns zeros: it hands out the graphs that it is given. */
const capture = (onGraph: (graph: Graph) => void) =>
  defineBackend<ValueType>({
    name: "capture",
    manifest,
    upload: ({ dtype, shape }) => ({ dtype, shape }),
    download: (_, { dtype, shape }) => zeros(shape, dtype) as HostTensor,
    bytes: () => 0,
    compile: (graph) => {
      onGraph(graph);
      return { run: () => Object.fromEntries(graph.outputs.map(({ name, value }) => [name, value])) };
    },
  });

/** Where casts, half dtypes and products are; and graphs that would take too long. */
const TELLING = /bf16|f16|f8|MatMul|Gemm|Einsum|Conv|Cast|rewrite|program/;
const MOST_NODES = 100;

export interface CapturedGraph {
  /** The conformance case. */
  readonly id: string;
  readonly graph: Graph;
}

/** Different graphs of conformance cases at even distances: the same ones in every run. */
export async function captureGraphs(count: number): Promise<readonly CapturedGraph[]> {
  const cases = allCases.filter(({ id }) => TELLING.test(id));
  const step = Math.floor(cases.length / (1.3 * count));
  const captured = new Map<string, CapturedGraph>();
  for (let index = 3; index < cases.length && captured.size < count; index += step) {
    const graphs: Graph[] = [];
    const factory = async () => capture((graph) => graphs.push(graph));
    // Every case fails, but for its graphs.
    await runConformance({ cases: cases.slice(index, index + 1), factory });
    const graph = graphs.find(({ nodes }) => nodes.length > 0 && nodes.length <= MOST_NODES);
    if (graph !== undefined) captured.set(printGraph(graph), { id: cases[index]?.id ?? "", graph });
  }
  return [...captured.values()];
}
