/**
 * A scan as a loop. Its values are the iteration number, a flag that says whether indices are in range, the carries, a
 * buffer for each stacked output, and operands that are only read. Each iteration writes a row of each buffer.
 */
import type { OpOf, ValueType } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { dtypeOf, type Operand, shapeOf } from "../stablehlo/operand.js";
import { listText, typesText, typeText } from "../stablehlo/tensor-type.js";
import { repeatWhile } from "../stablehlo/while.js";
import { type Lowering, type LoweringTable, resultType } from "./lowering.js";

/** Returns the start position of a row of `x` as operands of a dynamic slice. */
function rowPosition(emitter: Emitter, x: Operand, place: Operand): { names: string; types: string } {
  const zero = emitter.splat("i32", 0);
  const all = shapeOf(x).map((_, axis) => (axis === 0 ? place : zero));
  return { names: all.map(({ name }) => name).join(", "), types: typesText(all) };
}

function readRow(emitter: Emitter, x: Operand, place: Operand): Operand {
  const type: ValueType = { dtype: dtypeOf(x), shape: shapeOf(x).with(0, 1) };
  const { names, types } = rowPosition(emitter, x, place);
  const row = emitter.emit(
    `stablehlo.dynamic_slice ${x.name}, ${names}, sizes = ${listText(type.shape)} : (${typeText(x.type)}, ${types}) -> ${typeText(type)}`,
    type,
  );
  return emitter.reshape(row, shapeOf(x).slice(1));
}

function writeRow(emitter: Emitter, into: Operand, row: Operand, place: Operand): Operand {
  const wide = emitter.reshape(row, [1, ...shapeOf(row)]);
  const { names, types } = rowPosition(emitter, into, place);
  return emitter.emit(
    `stablehlo.dynamic_update_slice ${into.name}, ${wide.name}, ${names} : (${typesText([into, wide])}, ${types}) -> ${typeText(into.type)}`,
    into.type,
  );
}

const scan: Lowering<"Scan"> = (emitter, node, operands, emitGraph) => {
  const { body, carries, sequences, length, reverse } = node.attributes;
  const starts = operands.slice(0, carries);
  const read = operands.slice(carries);
  const buffers = node.outputs.slice(carries).map((_, index) => {
    const { dtype, shape } = resultType(node, carries + index);
    return emitter.splat(dtype, 0, shape);
  });
  if (length === 0) return [...starts, ...buffers];

  // Whether all indices so far were in range.
  const inRange = emitter.splat("bool", 1);
  let isChecked = false;
  const values = repeatWhile(
    emitter,
    [emitter.splat("i32", 0), inRange, ...starts, ...buffers, ...read],
    ([run]) => emitter.compare("LT", run as Operand, length),
    ([run, soFar, ...rest]) => {
      const [at, flag] = [run as Operand, soFar as Operand];
      const place = reverse ? emitter.binary("subtract", emitter.like(at, length - 1), at) : at;
      const given = rest.slice(carries + buffers.length);
      const elements = given.slice(0, sequences).map((sequence) => readRow(emitter, sequence, place));
      const inputs = [...rest.slice(0, carries), ...elements, ...given.slice(sequences)];
      const [results, own] = emitter.withOwnRange(() => emitGraph(emitter, body, inputs));
      isChecked = own !== undefined;
      const rows = results
        .slice(carries)
        .map((row, index) => writeRow(emitter, rest[carries + index] as Operand, row, place));
      const stays = own === undefined ? flag : emitter.binary("and", flag, own);
      return [emitter.binary("add", at, 1), stays, ...results.slice(0, carries), ...rows, ...given];
    },
  );
  if (isChecked) emitter.expectInRange(values[1] as Operand);
  return values.slice(2, 2 + node.outputs.length);
};

export const loopLowerings: LoweringTable<OpOf<"loop">> = { Scan: scan };
