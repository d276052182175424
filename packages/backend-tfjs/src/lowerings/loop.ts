/**
 * A scan as a loop whose variables are the number of the place, the carries, and a buffer for each stacked result, to
 * which every step writes its row in place.
 */
import { zeros } from "@mp/core";
import type { OpOf, Value } from "@mp/core/graph";
import { bool, int, type LoopVariable, type Lowering, type LoweringTable, type TfDType, type TfWriter, type } from "../graph/tf-writer.js"; // biome-ignore format: one list
import { operandAt, reshape, resultAt, typeAt } from "./lowering.js";

/** One row of a tensor; rows that lie at a multiple of 64 bytes are not copied. */
function rowAt(x: string, place: string, { dtype }: Pick<Value, "dtype">, writer: TfWriter): string {
  const end = writer.one("AddV2", [place, writer.ints([1])], { T: type("i32") });
  return writer.one("StridedSlice", [x, place, end, writer.ints([1])], {
    T: type(dtype),
    Index: type("i32"),
    begin_mask: int(0),
    end_mask: int(0),
    ellipsis_mask: int(0),
    new_axis_mask: int(0),
    shrink_axis_mask: int(1),
  });
}

const isEmpty = ({ shape }: Pick<Value, "shape">): boolean => shape.includes(0);

const scan: Lowering<"Scan"> = (node, operands, writer) => {
  const { body, carries, sequences, length, reverse } = node.attributes;
  const on = (op: string, a: string, b: string): string => writer.one(op, [a, b], { T: type("i32") });
  const variable = (dtype: TfDType, start: string): LoopVariable => ({ dtype, start });

  const stacked = body.outputs.slice(carries).map(({ value }, index) => {
    const { dtype, shape } = resultAt(node, carries + index);
    return { index: carries + index, row: value, dtype, shape };
  });
  const buffered = stacked.filter((stack) => !isEmpty(stack));
  const waitsFor = operands.slice(0, 1);
  const buffers = buffered.map(({ dtype, shape }) =>
    variable(
      dtype,
      // Nobody else may hold it, and it is not needed before the loop runs.
      writer.one(
        "Empty",
        [writer.ints(shape)],
        { dtype: type(dtype), init: bool(false) },
        { after: waitsFor },
      ),
    ),
  );
  const starts = operands.slice(0, carries).map((name, index) => variable(typeAt(node, index).dtype, name));
  const given = operands
    .slice(carries)
    .map((name, index) => variable(typeAt(node, carries + index).dtype, name));
  const first = writer.scalar(reverse ? length - 1 : 0, "i32");
  const left = writer.loop({
    variables: [variable("i32", first), ...starts, ...buffers],
    invariants: given,
    goesOn: ([place = ""]) =>
      reverse
        ? on("GreaterEqual", place, writer.scalar(0, "i32"))
        : on("Less", place, writer.scalar(length, "i32")),
    step: ([place = "", ...variables], same) => {
      const at = reshape(place, "i32", [], [1], writer);
      const elements = same.slice(0, sequences).map((sequence, index) => {
        return rowAt(sequence, at, typeAt(node, carries + index), writer);
      });
      const results = writer.body(body, [
        ...variables.slice(0, carries),
        ...elements,
        ...same.slice(sequences),
      ]);
      const rows = buffered.map(({ index, row, dtype }, place) => {
        const one = reshape(operandAt(results, index), dtype, row.shape, [1, ...row.shape], writer);
        return writer.one("InplaceUpdate", [operandAt(variables, carries + place), at, one], {
          T: type(dtype),
        });
      });
      const next = on(reverse ? "Sub" : "AddV2", place, writer.scalar(1, "i32"));
      return [next, ...results.slice(0, carries), ...rows];
    },
  });
  const [, ...after] = left;
  let taken = carries;
  const stacks = stacked.map((stack) => {
    if (isEmpty(stack)) return writer.constant(zeros(stack.shape, stack.dtype));
    return operandAt(after, taken++);
  });
  return [...after.slice(0, carries), ...stacks];
};

export const loopLowerings: LoweringTable<OpOf<"loop">> = { Scan: scan };
