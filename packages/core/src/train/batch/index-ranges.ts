/**
 * Checks labels and indices of host data before a run. Engines check them too, but their messages name neither the batch
 * nor the element.
 */
import {
  type AnyNode,
  type Executable,
  type Graph,
  type GraphNode,
  isHostTensor,
  MpError,
  type Op,
  producers,
  type RunInput,
  type Shape,
  stridesOf,
  type Value,
} from "@mp/graph";
import { sourceOfIndices } from "@mp/graph/internal";

/** The range allowed for the elements of an input. */
interface IndexRange {
  readonly input: string;
  readonly low: number;
  readonly high: number;
  /** The label that the loss ignores, if any. */
  readonly ignored: number | undefined;
  /** The name of an element in messages. */
  readonly what: string;
  /** Advice in the message for an element outside of the range. */
  readonly remedy: (value: number | bigint) => string;
  readonly node: AnyNode;
}

type Allowed = Omit<IndexRange, "input" | "node">;

function labels(
  { attributes }: GraphNode<"SoftmaxCrossEntropyLoss" | "NegativeLogLikelihoodLoss">,
  [, classes = 0]: Shape,
): Allowed {
  const high = classes - 1;
  const remedy: IndexRange["remedy"] = (label) =>
    `labels are classes from 0 to ${high}: give the last layer more outputs, correct the labels, or pass ignoreIndex: ${label}`;
  return { low: 0, high, ignored: attributes.ignoreIndex, what: "label", remedy };
}

function indices({ attributes }: GraphNode<"Gather" | "GatherElements">, shape: Shape): Allowed {
  const size = shape[attributes.axis] ?? 0;
  const remedy = (): string =>
    `the table has ${size} rows: give it more, or map what it does not know to one of them`;
  return { low: -size, high: size - 1, ignored: undefined, what: "index", remedy };
}

/** The range of the second operand, given the shape of the first. Other operators take neither labels nor indices. */
const RANGES: { readonly [K in Op]?: (node: GraphNode<K>, shape: Shape) => Allowed } = {
  SoftmaxCrossEntropyLoss: labels,
  NegativeLogLikelihoodLoss: labels,
  Gather: indices,
  GatherElements: indices,
};

/** The allowed ranges of graph inputs that reach an operator as labels or indices, without arithmetic in between. */
function indexRanges(graph: Graph): readonly IndexRange[] {
  const made = producers(graph);
  const inputs = new Map(
    graph.inputs.map(({ name, value, role }) => [value, role === "batch" ? name : undefined]),
  );
  const inputName = (value: Value | undefined): string | undefined => {
    const from = sourceOfIndices(value, (each) => made.get(each));
    return from === undefined ? undefined : inputs.get(from);
  };
  const ranges = graph.nodes.flatMap((node): readonly IndexRange[] => {
    if (node.origin.phase !== "forward" && node.origin.phase !== "loss") return [];
    const rangeOf = RANGES[node.op] as ((node: AnyNode, shape: Shape) => Allowed) | undefined;
    const range = rangeOf?.(node, node.inputs[0]?.shape ?? []);
    const input = range && inputName(node.inputs[1] ?? undefined);
    return input === undefined || range === undefined ? [] : [{ ...range, input, node }];
  });
  return ranges.filter(
    (range, at) =>
      ranges.findIndex((other) => other.input === range.input && isSameRange(other, range)) === at,
  );
}

const isSameRange = (a: IndexRange, b: IndexRange): boolean =>
  a.low === b.low && a.high === b.high && a.ignored === b.ignored;

/** Wraps an executable, so that labels and indices in host data are checked before each run. */
export function withCheckedIndices(executable: Executable, graph: Graph): Executable {
  const ranges = indexRanges(graph);
  if (ranges.length === 0) return executable;
  const { profile, memory } = executable;
  const check = (inputs: Readonly<Record<string, RunInput>>): void => {
    for (const range of ranges) checkRange(inputs[range.input], range);
  };
  return {
    warnings: executable.warnings,
    run: (inputs) => {
      check(inputs);
      return executable.run(inputs);
    },
    ...(profile && {
      profile: (inputs) => {
        check(inputs);
        return profile.call(executable, inputs);
      },
    }),
    ...(memory && { memory: () => memory.call(executable) }),
    dispose: () => executable.dispose(),
  };
}

/** Checks labels and indices in a host tensor; the engine checks data in its own memory. */
function checkRange(given: RunInput | undefined, range: IndexRange): void {
  if (!isHostTensor(given)) return;
  const { data, shape } = given;
  const { low, high, ignored } = range;
  for (let at = 0; at < data.length; at++) {
    const value = data[at] as number | bigint;
    if ((value >= low && value <= high) || Number(value) === ignored) continue;
    throw outOfRange(value, indexPlace(at, shape), range);
  }
}

function indexPlace(at: number, shape: Shape): readonly number[] {
  return stridesOf(shape).map((stride, axis) => Math.floor(at / stride) % (shape[axis] as number));
}

function outOfRange(
  value: number | bigint,
  place: readonly number[],
  { input, low, high, what, remedy, node }: IndexRange,
): MpError<"MP_OUT_OF_RANGE"> {
  const { line, scope } = node.origin;
  const where = line === undefined ? "" : ` (at ${line})`;
  const of = scope === "" ? node.op : scope;
  return new MpError(
    "MP_OUT_OF_RANGE",
    `${input}: ${what} ${value} at [${place.join(", ")}] is outside ${low} … ${high} of ${of}${where}; ${remedy(value)}`,
    { details: { input, value: Number(value), place, low, high, node: node.name } },
  );
}
