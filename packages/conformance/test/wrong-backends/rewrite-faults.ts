/** Backends whose optimizer rewrites chains by laws that NaN breaks, and backends that end too late. */

import { setImmediate } from "node:timers/promises";
import {
  type AnyNode,
  type Backend,
  type Graph,
  type HostTensor,
  MpError,
  type Op,
  producers,
  type Value,
} from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { delegate } from "../../src/delegate.js";
import { dataOf, evaluateNode, oracleWithKernels } from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

/** The oracle, which runs rewritten graphs. */
export async function rewriting(rewrite: (graph: Graph) => Graph): Promise<Backend> {
  const backend = await reference();
  return delegate(backend, { compile: (graph, options) => backend.compile(rewrite(graph), options) });
}

const INCREASING: ReadonlySet<Op> = new Set<Op>(["Sqrt", "Log", "Exp", "Tanh", "Sigmoid"]);

/** Replaces max(f(x)) by f(max(x)) if nothing else reads f(x). */
function extremesFirst(graph: Graph): Graph {
  const made = producers(graph);
  const reads = graph.nodes.flatMap(({ inputs }) => inputs);
  let id = 1_000_000;
  const nodes = graph.nodes.flatMap((node): readonly AnyNode[] => {
    const [x] = node.inputs;
    const inner = x === undefined ? undefined : made.get(x);
    const [operand] = inner?.inputs ?? [];
    const [result] = node.outputs;
    const isExtreme = node.op === "ReduceMax" || node.op === "ReduceMin";
    const isAlone = reads.filter((read) => read === x).length === 1;
    if (!isExtreme || !isAlone || inner === undefined || operand === undefined || result === undefined)
      return [node];
    if (!INCREASING.has(inner.op)) return [node];
    const extreme: Value = { ...result, id: id++ };
    return [
      { ...node, inputs: [operand], outputs: [extreme] },
      { ...inner, name: `${inner.name} of ${node.name}`, inputs: [extreme], outputs: [result] },
    ];
  });
  return { ...graph, nodes };
}

const OPPOSITE: { readonly [K in Op]?: Op } = {
  Less: "GreaterOrEqual",
  LessOrEqual: "Greater",
  Greater: "LessOrEqual",
  GreaterOrEqual: "Less",
};

/** Replaces not(x < y) by x ≥ y. */
function oppositeComparisons(graph: Graph): Graph {
  const made = producers(graph);
  const nodes = graph.nodes.map((node): AnyNode => {
    const [x] = node.inputs;
    const inner = node.op === "Not" && x !== undefined ? made.get(x) : undefined;
    const op = inner === undefined ? undefined : OPPOSITE[inner.op];
    return inner === undefined || op === undefined
      ? node
      : ({ ...inner, op, outputs: node.outputs } as AnyNode);
  });
  return { ...graph, nodes };
}

const FLOATS = ["f32", "f16", "bf16"];
const COMPARISONS = Object.keys(OPPOSITE);

/** Replaces NaN by 0 in f32 tensors with an infinity. */
function withoutNaN(x: HostTensor): HostTensor {
  if (!(x.data instanceof Float32Array) || !x.data.includes(Number.POSITIVE_INFINITY)) return x;
  return { ...x, data: x.data.map((element) => (Number.isNaN(element) ? 0 : element)) } as HostTensor;
}

/** Compiles for a state that has ended, in place of refusing, without the state. */
async function compilingForTheDead(): Promise<Backend> {
  const backend = await reference();
  return delegate(backend, {
    compile: async (graph, options = {}) => {
      await setImmediate();
      const { state: _ended, bindings: _bound, ...stateless } = options;
      return backend.compile(graph, options).catch((error: unknown) => {
        if (!MpError.is(error, "MP_DISPOSED")) throw error;
        return backend.compile(graph, stateless);
      });
    },
  });
}

/** Begins to dispose of the backend one turn of the event loop too late. */
async function endingLate(): Promise<Backend> {
  const backend = await reference();
  return delegate(backend, {
    dispose: async () => {
      await setImmediate();
      await backend.dispose();
    },
  });
}

export const rewriteFaults: readonly WrongBackend[] = [
  {
    fault: "maxima are taken before increasing functions",
    factory: () => rewriting(extremesFirst),
    axes: ["rewrite", "reduce"],
    // The smallest of square roots is NaN either way: what is outside the domain is the smallest itself.
    named: FLOATS.flatMap((dtype) =>
      ["Sqrt", "Log"].map((inner) => `rewrite/ReduceMax-of-${inner}-${dtype}/outside-its-domain`),
    ),
  },
  {
    fault: "what is not less is greater or equal",
    factory: () => rewriting(oppositeComparisons),
    axes: ["rewrite"],
    named: FLOATS.flatMap((dtype) => COMPARISONS.map((op) => `rewrite/Not-of-${op}-${dtype}/nan`)),
    consequences: [/^rewrite\/comparisons-/],
  },
  {
    fault: "a log-sum-exp loses NaN beside infinity",
    factory: () =>
      oracleWithKernels({
        ReduceLogSumExp: (operands, attributes) =>
          evaluateNode(
            "ReduceLogSumExp",
            dataOf(operands).map((x) => withoutNaN(x)),
            attributes,
          ),
      }),
    axes: ["reduce"],
    among: /\/ReduceLogSumExp[-/]/,
    named: ["reduce/ReduceLogSumExp-f32/nan-beside-infinity"],
    consequences: [/nan-at-every-position/],
  },
  {
    fault: "what is compiled for a state that ends comes to life",
    factory: compilingForTheDead,
    axes: ["order", "factory"],
    named: ["order/dispose/a-state-during-a-compilation"],
    // Its backend does not wait for a compilation either, which shows when the machine is busy.
    consequences: [/^(order|factory)\/dispose\//],
  },
  {
    fault: "a backend takes calls while it ends",
    factory: endingLate,
    axes: ["factory"],
    named: ["factory/dispose/refuses-what-comes-before-its-end"],
    message: /while the backend ends/,
  },
];
