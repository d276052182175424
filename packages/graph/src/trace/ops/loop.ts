/** Loops: a step that is traced once and runs for each element of some sequences. */
import { invalid, MpError, shapeMismatch } from "../../errors.js";
import { checkAttribute } from "../../graph/attribute-kinds-table.js";
import type { OpAttributes } from "../../graph/attributes.js";
import { formatType } from "../../graph/format-type.js";
import type { Origin, Value } from "../../graph/graph.js";
import { checkOptions } from "../../options.js";
import { elementCount } from "../../shape.js";
import { shown } from "../../shown.js";
import { leavesOf, rebuildTree } from "../../tree.js";
import { emitAll } from "../emit.js";
import type { TensorTree } from "../map-tensors.js";
import { openedTo } from "../opened.js";
import { isTensor, Tensor } from "../tensor.js";
import { currentBuilder, traceInto } from "../trace.js";

export interface ScanOptions {
  /** Number of steps, needed only if there are no sequences. Default: the length of the sequences. */
  readonly length?: number;
  /** Whether to go from the last element to the first; a result stays at its element's position. Default false. */
  readonly reverse?: boolean;
}

/**
 * Runs a step over the elements of sequences and carries values from step to step, like `jax.lax.scan`. The step is
 * traced once, so the graph is as large for 2000 elements as for 20; engines run it in a loop, and its gradient is a
 * loop, too. `sequences` is a tree of tensors [length, …]; the step gets one element [ … ] of each. The step returns
 * the next carry, of the shapes and dtypes of `start`, and a tree of results, which are stacked to [length, …].
 *
 * Tensors from outside are the same in each step. So are random numbers that the step draws: draw them outside, for
 * all elements, and pass them as a sequence. If the step is wrapped in `remat`, only its carries and elements are
 * kept for the backward pass.
 * @returns the last carry and the stacked results
 * @throws MP_SHAPE_MISMATCH for scalar sequences, sequences of different lengths, or a carry that changes its shape
 * @throws MP_DTYPE_MISMATCH, MP_INVALID_ARGUMENT for a carry that changes its dtype or its structure
 */
export function scan<C extends TensorTree, X extends TensorTree, Y extends TensorTree>(
  step: (carry: C, element: X) => readonly [carry: C, result: Y],
  start: C,
  sequences: X,
  options: ScanOptions = {},
): readonly [carry: C, results: Y] {
  checkOptions("scan", options, { length: true, reverse: true });
  const carries = leavesOf(start, isTensor, "scan: start");
  const elements = leavesOf(sequences, isTensor, "scan: sequences");
  const length = readLength(elements, options.length);
  const { reverse = false } = options;
  const inputs = [
    ...carries.map(([path, type]) => ({ name: leafName("carry", path), role: "capture" as const, type })),
    ...elements.map(([path, { dtype, shape }]) => ({
      name: leafName("element", path),
      role: "capture" as const,
      type: { dtype, shape: shape.slice(1) },
    })),
  ];
  const traced = traceInto(inputs, (tensors) => {
    const body = currentBuilder("scan");
    body.origin = withoutSegment(body.origin);
    const carry = rebuildTree(start, isTensor, tensors.slice(0, carries.length)) as C;
    const element = rebuildTree(sequences, isTensor, tensors.slice(carries.length)) as X;
    const returned = step(carry, element);
    if (!Array.isArray(returned) || returned.length !== 2) {
      throw invalid(`scan: the step returns [carry, result], got ${shown(returned)}`);
    }
    expectCarry(carries, leavesOf(returned[0], isTensor, "scan: the step's carry"));
    return returned as readonly [carry: C, result: Y];
  });
  const builder = currentBuilder("scan");
  const { graph, captured } = openedTo(builder, traced, ({ shape }) => elementCount(shape, "scan") === 1);
  const operands = [...carries, ...elements].map(([, leaf]) => leaf);
  const outer = captured.map((value) => Tensor.of(builder.capture(value) as Value));
  const outputs = emitScan(
    {
      starts: operands.slice(0, carries.length),
      sequences: operands.slice(carries.length),
      invariants: outer,
    },
    { body: graph, length, reverse, saved: 0 },
  );
  return rebuildTree(traced.result, isTensor, outputs) as unknown as readonly [C, Y];
}

/** Appends the Scan node. The operands are in the order of the body's inputs. */
export function emitScan(
  operands: {
    readonly starts: readonly Tensor[];
    readonly sequences: readonly Tensor[];
    readonly invariants: readonly Tensor[];
  },
  attributes: Omit<OpAttributes["Scan"], "carries" | "sequences">,
): readonly Tensor[] {
  const { starts, sequences, invariants } = operands;
  const counts = { carries: starts.length, sequences: sequences.length };
  return emitAll("Scan", [...starts, ...sequences, ...invariants], { ...counts, ...attributes });
}

type Leaves = readonly (readonly [path: string, leaf: Tensor])[];

const leafName = (what: string, path: string): string => (path === "" ? what : `${what}/${path}`);

/** Removes the `remat` segment from a body's origin, because a body is recomputed with its loop, never alone. */
function withoutSegment({ segment: _left, ...origin }: Origin): Origin {
  return origin;
}

/** The length that all sequences have. @throws MP_SHAPE_MISMATCH, MP_INVALID_ARGUMENT */
function readLength(elements: Leaves, option: number | undefined): number {
  if (option !== undefined) checkAttribute("scan", "length", option);
  const lengths = elements.map(([path, { shape }]) => {
    const [length] = shape;
    if (length !== undefined) return length;
    throw shapeMismatch(
      `scan: ${leafName("sequences", path)} is a scalar; a sequence has its steps on the first axis`,
    );
  });
  const [length = option] = lengths;
  if (length === undefined) {
    throw invalid("scan: there are no sequences; say how many steps: { length: 10 }");
  }
  const odd = [option ?? length, ...lengths].findIndex((other) => other !== length);
  if (odd >= 0) {
    throw shapeMismatch(
      odd === 0
        ? `scan: the sequences have ${length} elements, the option length is ${option}`
        : `scan: ${leafName("sequences", elements[odd - 1]?.[0] ?? "")} has ${lengths[odd - 1]} elements, others have ${length}`,
    );
  }
  return length;
}

/** @throws MP_INVALID_ARGUMENT, MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH for a carry unlike `start` */
function expectCarry(start: Leaves, next: Leaves): void {
  const paths = (leaves: Leaves): string => leaves.map(([path]) => path || "a tensor").join(", ");
  if (paths(start) !== paths(next)) {
    throw invalid(
      `scan: the step's carry holds ${paths(next) || "nothing"}, start holds ${paths(start) || "nothing"}; they have one structure`,
    );
  }
  start.forEach(([path, before], index) => {
    const after = next[index]?.[1] as Tensor;
    if (formatType(before) === formatType(after)) return;
    const isShape = before.dtype === after.dtype;
    throw new MpError(
      isShape ? "MP_SHAPE_MISMATCH" : "MP_DTYPE_MISMATCH",
      `scan: ${leafName("the step's carry", path)} is ${formatType(after)}, start is ${formatType(before)}; ${isShape ? "a carry keeps its shape" : "cast one of them"}`,
    );
  });
}
