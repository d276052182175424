/** Backends whose optimizer applies identities that do not hold for every number, or merges unequal nodes. */
import {
  type AnyNode,
  elementCount,
  type Graph,
  type HostTensor,
  isNode,
  producers,
  type Value,
} from "@mp/graph";
import { generate, toNumbers } from "../../src/host-data.js";
import { rewriting } from "./rewrite-faults.js";
import type { WrongBackend } from "./wrong-backend.js";

type Made = ReturnType<typeof producers>;

/** Replaces nodes by others with the same outputs, where `change` returns one. */
const replacing = (change: (node: AnyNode, made: Made) => AnyNode | undefined) =>
  rewriting((graph) => {
    const made = producers(graph);
    return { ...graph, nodes: graph.nodes.map((node) => change(node, made) ?? node) };
  });

const inputOf = (node: AnyNode, made: Made): AnyNode | undefined => {
  const [x] = node.inputs;
  return x === undefined ? undefined : made.get(x);
};

/** A node of another operator on x, with the outputs of the given node. */
const become = (node: AnyNode, op: "Identity" | "Abs" | "Reciprocal", x: Value): AnyNode =>
  ({ ...node, op, inputs: [x], attributes: {} }) as AnyNode;

function filledBy(node: AnyNode, x: number): AnyNode {
  const [{ dtype, shape }] = node.outputs as readonly [Value];
  return {
    ...node,
    op: "Constant",
    inputs: [],
    attributes: { value: generate(dtype, shape, () => x) },
  } as AnyNode;
}

const isFilledWith = (node: AnyNode | undefined, x: number): boolean =>
  node !== undefined && isNode(node, "Constant") && toNumbers(node.attributes.value).every((y) => y === x);

/** Leaves out an operation whose second operand is the constant x and does not broadcast the first. */
function without(op: "Add" | "Mul", x: number, to: (node: AnyNode, kept: Value) => AnyNode) {
  return (node: AnyNode, made: Made): AnyNode | undefined => {
    const [a, b] = node.inputs;
    if (node.op !== op || a === undefined || b === undefined) return undefined;
    const isWhole =
      elementCount(a.shape, "test data") === elementCount(node.outputs[0]?.shape ?? [], "test data");
    return isWhole && isFilledWith(made.get(b), x) ? to(node, a) : undefined;
  };
}

/** Replaces f(g(x)) by x. */
const undone = (outer: AnyNode["op"], inner: AnyNode["op"]) => (node: AnyNode, made: Made) => {
  const before = inputOf(node, made);
  const [x] = before?.inputs ?? [];
  return node.op === outer && before?.op === inner && x !== undefined
    ? become(node, "Identity", x)
    : undefined;
};

/** Merges nodes whose keys are equal. */
function merging(keyOf: (node: AnyNode) => string | undefined) {
  return rewriting((graph: Graph) => {
    const first = new Map<string, AnyNode>();
    const nodes = graph.nodes.map((node): AnyNode => {
      const key = keyOf(node);
      if (key === undefined) return node;
      const known = first.get(key) ?? node;
      first.set(key, known);
      const [x] = known.outputs;
      return known === node || x === undefined ? node : become(node, "Identity", x);
    });
    return { ...graph, nodes };
  });
}

const ids = ({ inputs }: AnyNode): string => inputs.map(({ id }) => id).join();
const types = ({ outputs }: AnyNode): string => outputs.map(({ dtype, shape }) => `${dtype}${shape}`).join();
const firstBytes = ({ data }: HostTensor): string =>
  new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, Math.min(64, data.byteLength)).join();

const PLACES = ["inputs", "inner-values"];

function fault(
  name: string,
  table: string,
  factory: WrongBackend["factory"],
  places: readonly string[] = PLACES,
): WrongBackend {
  return {
    fault: name,
    factory,
    axes: ["rewrite"],
    among: new RegExp(`^rewrite/${table}-f32/`),
    named: places.map((place) => `rewrite/${table}-f32/of-${place}`),
    consequences: [/^rewrite\//],
  };
}

export const identityFaults: readonly WrongBackend[] = [
  fault("x - x is 0", "sums", () =>
    replacing((node) =>
      node.op === "Sub" && node.inputs[0] === node.inputs[1] ? filledBy(node, 0) : undefined,
    ),
  ),
  fault("x + 0 is x", "sums", () => replacing(without("Add", 0, (node, x) => become(node, "Identity", x)))),
  fault("x 0 is 0", "products", () => replacing(without("Mul", 0, (node) => filledBy(node, 0)))),
  fault("x / x is 1", "quotients", () =>
    replacing((node) =>
      node.op === "Div" && node.inputs[0] === node.inputs[1] ? filledBy(node, 1) : undefined,
    ),
  ),
  fault("the reciprocal of a reciprocal is x", "quotients", () =>
    replacing(undone("Reciprocal", "Reciprocal")),
  ),
  fault("exp(log(x)) is x", "functions", () => replacing(undone("Exp", "Log"))),
  {
    fault: "sqrt(sigmoid(x)) is sigmoid(x)",
    factory: () =>
      replacing((node, made) => {
        const before = inputOf(node, made);
        return node.op === "Sqrt" && before?.op === "Sigmoid"
          ? ({ ...node, op: "Sigmoid", inputs: before.inputs } as AnyNode)
          : undefined;
      }),
    axes: ["rewrite"],
    among: /of-every-function$/,
    named: ["f32", "f16", "bf16"].map((dtype) => `rewrite/Sqrt-${dtype}/of-every-function`),
  },
  fault("sqrt(x x) is |x|", "functions", () =>
    replacing((node, made) => {
      const square = inputOf(node, made);
      const [x] = square?.inputs ?? [];
      const isSquare = square?.op === "Mul" && square.inputs[0] === square.inputs[1];
      return node.op === "Sqrt" && isSquare && x !== undefined ? become(node, "Abs", x) : undefined;
    }),
  ),
  fault("the outer clip replaces both", "extremes", () =>
    replacing((node, made) => {
      const before = inputOf(node, made);
      return node.op === "Clip" && before?.op === "Clip"
        ? ({ ...node, inputs: before.inputs } as AnyNode)
        : undefined;
    }),
  ),
  fault("two transposes undo each other", "movements", () =>
    replacing((node, made) => {
      const before = inputOf(node, made);
      const [x] = before?.inputs ?? [];
      const isPair = node.op === "Transpose" && before?.op === "Transpose";
      const keepsShape = x?.shape.join() === node.outputs[0]?.shape.join();
      return isPair && x !== undefined && keepsShape ? become(node, "Identity", x) : undefined;
    }),
  ),
  fault("a cast and a cast back undo each other", "casts", () =>
    replacing((node, made) => {
      const before = inputOf(node, made);
      const [x] = before?.inputs ?? [];
      const isPair = node.op === "Cast" && before?.op === "Cast" && x?.dtype === node.outputs[0]?.dtype;
      return isPair && x !== undefined ? become(node, "Identity", x) : undefined;
    }),
  ),
  fault("equal nodes are merged whatever their attributes", "nodes", () =>
    merging((node) =>
      node.outputs.length === 1 && node.inputs.length > 0
        ? `${node.op} ${ids(node)} ${types(node)}`
        : undefined,
    ),
  ),
  fault("a comparison with itself is true", "comparisons", () =>
    replacing((node) =>
      node.op === "Equal" && node.inputs[0] === node.inputs[1] ? filledBy(node, 1) : undefined,
    ),
  ),
  fault(
    "constants are merged by their first bytes",
    "constants",
    () =>
      merging((node) =>
        isNode(node, "Constant") ? `${types(node)} ${firstBytes(node.attributes.value)}` : undefined,
      ),
    ["constants"],
  ),
];
