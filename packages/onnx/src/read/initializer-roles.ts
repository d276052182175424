// Decides which initializers of a foreign model, and equivalent Constant nodes, are trained. A file does not say this.
// Weights, running statistics, masks and tables of angles are all initializers, and exporters rename them. So each is
// followed to the operators that read it, through nodes that only move it or compute from constants, and its use there
// decides. If it is added to values or multiplied with them, it may be a table that no optimizer should touch; then its
// elements decide.
import { elementCount, type HostTensor, isFloat, OPS, opTable } from "@mp/graph";
import { type OnnxGraph, type OnnxInitializer, type OnnxNode, onnxNode } from "../model.js";
import { toNumbers } from "../numbers.js";
import { quote } from "../problem.js";
import { holdsOneNumber, isMask, isWaves } from "./table-values.js";

/** The role of a float initializer, or of a float Constant node, and the reason for the role. */
export interface InitializerRole {
  readonly name: string;
  /** Whether the tensor is a trained input of the graph; otherwise it is a constant. */
  readonly isParameter: boolean;
  /** Explains the role to people: `weight of MatMul "/head/MatMul"`. */
  readonly reason: string;
  /** A hint to the user, for a constant that may be a weight. */
  readonly doubt?: string;
  /** The uses that train the tensor, if there are several: layers share it, or an exporter merged equal tensors. */
  readonly shared?: readonly string[];
}

/** Returns the default role, or the role that the caller's function `decide` chooses. */
export function decideRole(
  name: string,
  tensor: HostTensor,
  byDefault: InitializerRole,
  decide?: (name: string, tensor: HostTensor, byDefault: InitializerRole) => boolean,
): InitializerRole {
  if (decide === undefined) return byDefault;
  const reason = `isParameter says so; by default: ${byDefault.reason}`;
  return { name, isParameter: decide(name, tensor, byDefault), reason };
}

type Verdict = Omit<InitializerRole, "name">;

interface Use {
  readonly node: OnnxNode;
  readonly index: number;
}

const describeNode = ({ opType, name, outputs }: OnnxNode): string =>
  `${opType} ${quote(name === "" ? (outputs[0] ?? "") : name)}`;
const parameterRole = (what: string, node: OnnxNode): Verdict => ({
  isParameter: true,
  reason: `${what} ${describeNode(node)}`,
});
const constantRole = (reason: string): Verdict => ({ isParameter: false, reason });
const doubtful = (reason: string, what: string, node: OnnxNode): Verdict => ({
  ...constantRole(reason),
  doubt: `${reason}, ${what} ${describeNode(node)}`,
});

/** Names that exporters generate for constants in formulas; in PyTorch's paths they are the last part. */
const MADE_UP = /(^|[./])(val|_?lifted_tensor(_constant)?|_?tensor_constant|const(ant)?|onnx::\w*)_?\d*$/i;

/** Ops that only move the elements of their first operand; their other operands may be anything. */
const MOVES: ReadonlySet<string> = new Set([
  ...OPS.filter((op) => op !== "Barrier" && ["view", "copies", "slices"].includes(opTable[op].moves ?? "")),
  "Cast", "CastLike", "Flatten", "Pad", "Dropout",
]); // biome-ignore format: one list

/** The role of a recurrent op's first state. Exporters write zeros, so only a learned state has other values. */
const STATE = "first state of";

/** The role of each operand of an op; undefined for operands that are never trained. */
const OPERANDS: Readonly<Record<string, readonly (string | undefined)[]>> = {
  Conv: [undefined, "weight of", "bias of"],
  ConvTranspose: [undefined, "weight of", "bias of"],
  MatMul: ["weight of", "weight of"],
  Gemm: ["weight of", "weight of", "bias of"],
  BatchNormalization: [undefined, "scale of", "bias of"],
  InstanceNormalization: [undefined, "scale of", "bias of"],
  GroupNormalization: [undefined, "scale of", "bias of"],
  LayerNormalization: [undefined, "scale of", "bias of"],
  RMSNormalization: [undefined, "scale of"],
  PRelu: [undefined, "slope of"],
  LSTM: [undefined, "weight of", "weight of", "bias of", undefined, STATE, STATE, "peepholes of"],
  GRU: [undefined, "weight of", "weight of", "bias of", undefined, STATE],
  RNN: [undefined, "weight of", "weight of", "bias of", undefined, STATE],
  Gather: ["table of"],
  GatherElements: ["table of"],
  GatherND: ["table of"],
  Add: ["added by", "added by"],
  Sub: ["added by"],
  Mul: ["factor of", "factor of"],
  Div: ["factor of"],
  Where: [undefined, "choice of", "choice of"],
  Pow: [undefined, "exponent of"],
};

/** The role that every operand has, for the ops that take any number of operands. */
const EVERY_OPERAND: Readonly<Record<string, string>> = {
  Sum: "added by",
  Mean: "part of",
  Concat: "part of",
  Einsum: "weight of",
};

/** The operators that may read a weight, or move its elements. */
export const OPERATORS_WITH_ROLES: readonly string[] = [
  ...MOVES,
  ...Object.keys(OPERANDS),
  ...Object.keys(EVERY_OPERAND),
];

/** Operators whose operand may be a weight, a computed table, or a constant in a formula; the elements tell which. */
const DECIDED_BY_VALUES: ReadonlySet<string> = new Set([
  "Gather", "GatherElements", "GatherND", "Add", "Sum", "Sub", "Mul", "Div", "Concat", "Where", "Mean",
  "Pow", "InstanceNormalization",
]); // biome-ignore format: one list

const PRODUCTS: ReadonlySet<string> = new Set(["MatMul", "Gemm", "Einsum", "Conv", "ConvTranspose"]);

/** Longest path from frequencies to cosines, limited as the search branches at every use. Exporters write 4 or 5. */
const MOST_STEPS = 8;

const STATISTICS: Readonly<Record<string, string>> = { Sqrt: "variance", Reciprocal: "variance" };

export class InitializerRoles {
  readonly #uses = new Map<string, Use[]>();
  readonly #makers = new Map<string, OnnxNode>();
  /** Values that depend on the model's inputs. */
  readonly #data = new Set<string>();
  /** Values that depend on integer inputs and no others, such as positions. */
  readonly #counts = new Set<string>();

  /** Initializers whose names do not look generated (see `MADE_UP`). */
  readonly #given: ReadonlySet<string>;
  /** Initializers that are named like a module's parameter or buffer. */
  readonly #named: ReadonlySet<string>;

  /** @param producer of the file, since PyTorch keeps the names of parameters, and others may generate names */
  constructor(graph: OnnxGraph, producer: string) {
    const given = graph.initializers.map(({ name }) => name).filter((name) => !MADE_UP.test(name));
    this.#given = new Set(given);
    this.#named = new Set(producer === "pytorch" ? given : []);
    const initializers = new Set(graph.initializers.map(({ name }) => name));
    for (const { name, type } of graph.inputs) {
      if (initializers.has(name)) continue;
      this.#data.add(name);
      if (type?.elementType === "i64" || type?.elementType === "i32") this.#counts.add(name);
    }
    const nodes = graph.nodes.flatMap(withBodies);
    const held = [...graph.initializers, ...nodes.flatMap(constantFloats)];
    const tables = new Set(held.filter(({ tensor }) => !isNumber(tensor)).map(({ name }) => name));
    for (const node of nodes) {
      node.inputs.forEach((name, index) => {
        const uses = this.#uses.get(name) ?? [];
        uses.push({ node, index });
        this.#uses.set(name, uses);
      });
      for (const name of node.outputs) this.#makers.set(name, node);
      const dependent = node.inputs.filter((name) => this.#data.has(name));
      if (dependent.length === 0) continue;
      const isCount =
        dependent.every((name) => this.#counts.has(name)) && !node.inputs.some((name) => tables.has(name));
      for (const name of node.outputs) {
        this.#data.add(name);
        if (isCount) this.#counts.add(name);
      }
    }
  }

  /** The role of an initializer: a parameter if it is float and any of its uses trains it. */
  of(name: string, tensor: HostTensor): Verdict {
    if (!isFloat(tensor.dtype)) return constantRole(`is ${tensor.dtype}`);
    const verdicts = [...this.#verdicts(name, tensor)];
    const training = verdicts.filter(({ isParameter }) => isParameter);
    const [first] = training.length > 0 ? training : verdicts;
    if (first === undefined) return constantRole("read by nothing");
    const shared = [...new Set(training.map(({ reason }) => reason))];
    if (shared.length > 1) return { ...first, shared };
    if (first.isParameter) return first;
    const doubt = verdicts.find((verdict) => verdict.doubt !== undefined)?.doubt;
    const verdict = tensor.shape.length === 0 ? constantRole("a scalar") : first;
    return doubt === undefined ? verdict : { ...verdict, doubt };
  }

  *#verdicts(root: string, tensor: HostTensor): Generator<Verdict> {
    const open = [root];
    const seen = new Set(open);
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      for (const use of this.#uses.get(name) ?? []) {
        const verdict = this.#verdict(use, tensor, root);
        if (verdict !== undefined) yield verdict;
        else for (const output of use.node.outputs) if (!seen.has(output)) open.push(output);
        for (const output of use.node.outputs) seen.add(output);
      }
    }
  }

  /** The role that one use gives; undefined if the node only moves the elements or computes a constant from them. */
  #verdict({ node, index }: Use, tensor: HostTensor, root: string): Verdict | undefined {
    const { opType, inputs, outputs } = node;
    if (opType === "Cos" || opType === "Sin") return constantRole(`angles of ${opType}`);
    if (MOVES.has(opType) && index === 0) return undefined;
    const others = inputs.filter((name, at) => at !== index && this.#data.has(name));
    if (others.length === 0) {
      if (isNumber(tensor) && !this.#named.has(root)) return constantRole("a single number");
      const statistic = STATISTICS[opType];
      return statistic === undefined ? undefined : constantRole(`${statistic}, by its ${opType}`);
    }
    if (others.every((name) => this.#counts.has(name)) && this.#makesAngles(outputs))
      return constantRole("frequencies of angles");
    if (opType === "BatchNormalization" && index > 2) {
      return constantRole(`running ${index === 3 ? "mean" : "variance"} of ${opType}`);
    }
    const what = EVERY_OPERAND[opType] ?? OPERANDS[opType]?.[index];
    if (what === undefined)
      return constantRole(`operand ${index} of ${opType}, which holds no weights there`);
    const isDecidedByValues = DECIDED_BY_VALUES.has(opType) || what === STATE;
    return (
      (isDecidedByValues ? this.#byValues(node, index, tensor, root) : undefined) ?? parameterRole(what, node)
    );
  }

  #byValues(node: OnnxNode, index: number, tensor: HostTensor, root: string): Verdict | undefined {
    const { opType, inputs } = node;
    const isNamed = this.#named.has(root);
    if (opType === "InstanceNormalization") return isNamed ? undefined : this.#standIn(node, index, tensor);
    if (isNumber(tensor)) {
      // The bias of a layer with one output is a single number as well.
      const other = this.#makers.get(inputs[1 - index] ?? "")?.opType ?? "";
      if (isNamed || (opType === "Add" && PRODUCTS.has(other))) return undefined;
      const number = "a single number";
      return opType === "Mul" && this.#given.has(root)
        ? doubtful(number, "factor of", node)
        : constantRole(number);
    }
    if (isMask(tensor)) return constantRole("a mask, of 0 and numbers without bounds, or of 0 and 1");
    if (isWaves(tensor)) return constantRole("a table of sines and cosines");
    const mayRepeat = opType === "Where" || OPERANDS[opType]?.[index] === STATE;
    if (mayRepeat && holdsOneNumber(tensor)) return constantRole("a single number, repeated");
    return undefined;
  }

  /** Recognizes a scale of ones or an offset of zeros. It replaces one that is absent or applied later. */
  #standIn(node: OnnxNode, index: number, tensor: HostTensor): Verdict | undefined {
    const neutral = index === 1 ? 1 : 0;
    if (!toNumbers(tensor).every((value) => value === neutral)) return undefined;
    const reason = index === 1 ? "ones" : "zeros";
    const isScaledLater = node.outputs
      .flatMap((name) => this.#uses.get(name) ?? [])
      .some((use) => use.node.opType === "Reshape" || use.node.opType === "Mul");
    if (isScaledLater) return constantRole(`${reason}, in the place of a gain and an offset that come later`);
    return doubtful(reason, index === 1 ? "scale of" : "bias of", node);
  }

  /** Whether these values are used only to compute sines and cosines. */
  #makesAngles(names: readonly string[], depth = 0): boolean {
    const uses = names.flatMap((name) => this.#uses.get(name) ?? []);
    if (uses.length === 0 || depth > MOST_STEPS) return false;
    return uses.every(({ node }) => {
      if (node.opType === "Cos" || node.opType === "Sin") return true;
      const passes = MOVES.has(node.opType) || node.opType === "Concat" || node.opType === "Mul";
      return passes && this.#makesAngles(node.outputs, depth + 1);
    });
  }
}

/** The node, or for a loop its body's nodes, with Identity nodes that pass operands in and results out. */
function withBodies(node: OnnxNode): readonly OnnxNode[] {
  const body = node.attributes["body"];
  if (body?.kind !== "graph") return [node];
  const { inputs, nodes, outputs } = body.value;
  // A loop's body gets the number of the step, then the loop's operands without the number of steps.
  const skipped = node.opType === "Loop" ? 1 : 0;
  return [
    ...inputs.map(({ name }, index) => onnxNode("Identity", [node.inputs[index] ?? ""], [name])),
    ...nodes.flatMap(withBodies),
    ...node.outputs.map((name, index) =>
      onnxNode("Identity", [outputs[index + skipped]?.name ?? ""], [name]),
    ),
  ];
}

/** Lists the tensor of a Constant node if its dtype is a float; integer tensors hold shapes and axes. Else empty. */
export function constantFloats({
  opType,
  domain,
  attributes,
  outputs,
}: OnnxNode): readonly OnnxInitializer[] {
  const value = opType === "Constant" && domain === "" ? attributes["value"] : undefined;
  return value?.kind === "tensor" && isFloat(value.value.dtype)
    ? [{ name: outputs[0] ?? "", tensor: value.value }]
    : [];
}

const isNumber = ({ shape }: HostTensor): boolean => elementCount(shape, "initializer") === 1;
