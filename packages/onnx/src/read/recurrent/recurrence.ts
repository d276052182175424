/** Reads the operands, directions and results that LSTM, GRU and RNN have in common. */
import type { Tensor, Value } from "@mp/graph";
import { clip, concat, slice, split, squeeze, transpose, unsqueeze } from "@mp/graph/ops";
import { quote } from "../../problem.js";
import type { NodeReader, ReadNode } from "../node/node-reader.js";
import { type Activation, readActivations } from "./activations.js";
import type { Direction, OperandName, RecurrentOp } from "./cell.js";
import { type DirectionResult, overTime } from "./over-time.js";
import { readLengths } from "./row-lengths.js";
import { readSizes, type Sizes } from "./sizes.js";

type Operands = Readonly<Partial<Record<OperandName, Tensor>>>;

const NEEDED: ReadonlySet<OperandName> = new Set<OperandName>(["X", "W", "R"]);

/** Whether each direction runs in reverse, by the value of the attribute `direction`. */
const DIRECTIONS: Readonly<Record<string, readonly boolean[]>> = {
  forward: [false],
  reverse: [true],
  bidirectional: [false, true],
};

/** Reads a node as one loop over time for each direction. */
export const readRecurrence =
  (op: RecurrentOp): ReadNode =>
  (reader) => {
    const directions = readDirections(reader);
    const sizes = readSizes(reader, op, directions.length);
    const activations = readActivations(reader, op.activations, directions.length);
    const clipInput = readClip(reader);
    const makeCell = op.cell(reader);
    const lengths = readLengths(reader, sizes);
    const given = op.operands.flatMap((name, index): readonly (readonly [OperandName, Value])[] => {
      const value =
        name === "sequence_lens"
          ? lengths
          : NEEDED.has(name)
            ? reader.operand(index)
            : reader.optional(index);
      return value === undefined ? [] : [[name, value]];
    });
    const values = given.map(([, value]) => value);
    return reader.composeAll(values, (...tensors) => {
      const operands: Operands = Object.fromEntries(given.map(([name], index) => [name, tensors[index]]));
      const results = directions.map((reverse, index) => {
        const functions = (activations[index] ?? []).map(
          (fn, place): Activation => (place < op.clipped ? (x) => fn(clipInput(x)) : fn),
        );
        const cell = makeCell(parameters(operands, index, { hidden: sizes.hidden, activations: functions }));
        const inputs = {
          x: operands.X as Tensor,
          weights: part(operands.W as Tensor, index),
          starts: op.states.map((name) => {
            const state = operands[name];
            return state && part(state, index, sizes.isBatchFirst ? 1 : 0);
          }),
          lengths: operands.sequence_lens,
          reverse,
        };
        return overTime(cell, inputs, sizes);
      });
      return joinResults(results, sizes);
    });
  };

function readDirections(reader: NodeReader): readonly boolean[] {
  const name = reader.string("direction", "forward");
  const directions = Object.hasOwn(DIRECTIONS, name) ? DIRECTIONS[name] : undefined;
  const supported = Object.keys(DIRECTIONS).join(", ");
  return directions ?? reader.unsupported(`has the direction ${quote(name)}, supported are ${supported}`);
}

/** Returns a function that clips inputs of activations as the attribute `clip` says. */
function readClip(reader: NodeReader): Activation {
  if (!reader.hasAttribute("clip")) return (x) => x;
  const max = reader.float("clip");
  if (!(max > 0)) return reader.unsupported(`has the clip ${max}, supported are numbers above 0`);
  return (x) => clip(x, { min: -max, max });
}

/** Takes the part for one direction from an operand that stacks the directions along an axis. */
function part(x: Tensor, index: number, axis = 0): Tensor {
  const own = x.shape[axis] === 1 ? x : slice(x, [{ axis, start: index, end: index + 1 }]);
  return squeeze(own, [axis]);
}

function parameters(
  { R, B, P }: Operands,
  index: number,
  rest: Pick<Direction, "hidden" | "activations">,
): Direction {
  const biases = B && (split(part(B, index), 2) as [Tensor, Tensor]);
  return {
    ...rest,
    recurrent: part(R as Tensor, index),
    ...(biases && { biases }),
    ...(P && { peepholes: part(P, index) }),
  };
}

/** Joins the results of all directions: Y, then the last value of each state. */
function joinResults(results: readonly DirectionResult[], { isBatchFirst }: Sizes): readonly Tensor[] {
  const along = (axis: number, tensors: readonly Tensor[]): Tensor => {
    const [first, ...others] = tensors.map((tensor) => unsqueeze(tensor, [axis]));
    return others.length === 0 ? (first as Tensor) : concat([first as Tensor, ...others], axis);
  };
  const ys = results.map(({ y }) => (isBatchFirst ? transpose(y, [1, 0, 2]) : y));
  const states = (results[0]?.states ?? []).map((_, place) =>
    along(
      isBatchFirst ? 1 : 0,
      results.map((result) => result.states[place] as Tensor),
    ),
  );
  return [along(isBatchFirst ? 2 : 1, ys), ...states];
}
