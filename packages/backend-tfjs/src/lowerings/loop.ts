/**
 * Writes a scan as a loop. The loop's variables are the index of the step, the carries, and a buffer for each
 * stacked result, into which every step writes its row in place.
 */
import { type OpOf, type ValueType, zeros } from "@mp/graph";
import { bool, type } from "../graph/attributes.js";
import type { LoopVariable, ScopeWriter } from "../graph/scope-writer.js";
import { strideAttributes, type Term } from "../graph/term.js";
import { type Lowering, type LoweringTable, resultAt } from "./lowering.js";

/** Takes one row of a tensor, without a copy if the row is aligned to 64 bytes. */
function rowAt(x: Term, place: Term, writer: ScopeWriter): Term {
  const { dtype, shape } = x;
  const end = writer.term("AddV2", [place, writer.ints([1])], { T: type("i32") }, place);
  const attributes = strideAttributes(dtype, 0, 1);
  return writer.term("StridedSlice", [x, place, end, writer.ints([1])], attributes, {
    dtype,
    shape: shape.slice(1),
  });
}

const isEmpty = ({ shape }: ValueType): boolean => shape.includes(0);
const variable = ({ dtype, name: start }: Term): LoopVariable => ({ dtype, start });

const scan: Lowering<"Scan"> = (node, operands, writer) => {
  const { body, carries, sequences, length, reverse } = node.attributes;

  const stacked = body.outputs.slice(carries).map(({ value: row }, index) => {
    const { dtype, shape } = resultAt(node, carries + index);
    return { index: carries + index, row, dtype, shape };
  });
  const buffered = stacked.filter((stack) => !isEmpty(stack));
  const waitsFor = operands.slice(0, 1);
  const buffers = buffered.map(({ dtype, shape }) => {
    // No other node may hold the buffer, and it is not needed before the loop runs.
    const attributes = { dtype: type(dtype), init: bool(false) };
    return writer.term("Empty", [writer.ints(shape)], attributes, { dtype, shape }, { after: waitsFor });
  });
  const [starts, given] = [operands.slice(0, carries), operands.slice(carries)];
  const first = writer.scalar(reverse ? length - 1 : 0, "i32");
  const variables = [first, ...starts, ...buffers];
  const inside = (names: readonly string[], types: readonly Term[]): readonly Term[] =>
    names.map((name, index) => writer.at(name, types[index] as Term));
  const left = writer.loop({
    variables: variables.map(variable),
    invariants: given.map(variable),
    goesOn: ([name = ""]) => {
      const [op, bound] = reverse ? ["GreaterEqual", 0] : ["Less", length];
      return writer.one(op, [name, writer.scalar(bound, "i32")], { T: type("i32") });
    },
    step: (names, sameNames) => {
      const [place, ...rest] = inside(names, variables) as readonly [Term, ...Term[]];
      const same = inside(sameNames, given);
      const at = place.reshape([1]);
      const elements = same.slice(0, sequences).map((sequence) => rowAt(sequence, at, writer));
      const inputs = [...rest.slice(0, carries), ...elements, ...same.slice(sequences)];
      const results = writer.body(body, inputs);
      const rows = buffered.map(({ index, row, dtype }, position) => {
        const buffer = rest[carries + position] as Term;
        const one = (results[index] as Term).reshape([1, ...row.shape]);
        return writer.one("InplaceUpdate", [buffer, at, one], { T: type(dtype) });
      });
      const next = writer.one(reverse ? "Sub" : "AddV2", [place, writer.scalar(1, "i32")], {
        T: type("i32"),
      });
      return [next, ...results.slice(0, carries).map(({ name }) => name), ...rows];
    },
  });
  const after = inside(left, variables).slice(1);
  let taken = carries;
  const stacks = stacked.map((stack) =>
    isEmpty(stack) ? writer.constant(zeros(stack.shape, stack.dtype)) : (after[taken++] as Term),
  );
  return [...after.slice(0, carries), ...stacks];
};

export const loopLowerings: LoweringTable<OpOf<"loop">> = { Scan: scan };
