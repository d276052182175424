/** Reads and writes rows at positions along one axis. */
import { isFloat, isHalf, type ValueType } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { count, dtypeOf, type Operand, range, rankOf, shapeOf, sizeOf } from "../stablehlo/operand.js";
import type { BinaryOperation } from "../stablehlo/operations.js";
import { sumParts } from "../stablehlo/sharding.js";
import { stableSort } from "../stablehlo/sort.js";
import { arrayText, listText, namesText, typesText, typeText } from "../stablehlo/tensor-type.js";

/** Takes the elements of `x` at `places` (i32) along one axis. The axes of `places` replace that axis. */
export function takeRows(emitter: Emitter, x: Operand, places: Operand, axis = 0): Operand {
  const [before, after] = [shapeOf(x).slice(0, axis), shapeOf(x).slice(axis + 1)];
  const type = { dtype: dtypeOf(x), shape: [...before, ...shapeOf(places), ...after] };
  // XLA takes no slice of an empty axis, in which no position exists.
  if (count(type.shape) === 0 || count(shapeOf(x)) === 0) return emitter.splat(type.dtype, 0, type.shape);
  const kept = [...range(axis), ...range(after.length).map((own) => axis + rankOf(places) + own)];
  return emitter.emit(
    `"stablehlo.gather"(${namesText([x, places])}) <{dimension_numbers = #stablehlo.gather<offset_dims = ${listText(kept)}, collapsed_slice_dims = [${axis}], start_index_map = [${axis}], index_vector_dim = ${rankOf(places)}>, slice_sizes = ${arrayText(shapeOf(x).with(axis, 1))}, indices_are_sorted = false}> : (${typesText([x, places])}) -> ${typeText(type)}`,
    type,
  );
}

/**
 * Writes rows of `updates` [N, W] to rows `places` i32 [N] of `x` [R, W], or combines them with the rows
 * there. Without an operation, the last update of a row wins. Updates of one row are first combined with each
 * other, in an order that depends only on N, so that runs give equal bits on every device: after sorting by
 * place, each update adds the sums of the 1, 2, 4, … updates before it with the same place. Half dtypes are
 * combined in f32 and rounded once. Each of several devices combines its own updates.
 */
export function putRows(
  emitter: Emitter,
  x: Operand,
  places: Operand,
  updates: Operand,
  operation?: BinaryOperation,
): Operand {
  const dtype = dtypeOf(x);
  if (emitter.options.devices === 1 || operation !== "add" || !isFloat(dtype))
    return putOwnRows(emitter, x, places, updates, operation);
  const type: ValueType = { dtype: "f32", shape: shapeOf(x) };
  const sum = sumParts(emitter, [places, emitter.convert(updates, "f32")], type, (own, added) =>
    putOwnRows(emitter, emitter.splat("f32", 0, type.shape), own, added, "add"),
  );
  return emitter.convert(emitter.binary("add", emitter.convert(x, "f32"), sum), dtype);
}

function putOwnRows(
  emitter: Emitter,
  x: Operand,
  places: Operand,
  updates: Operand,
  operation?: BinaryOperation,
): Operand {
  const rows = sizeOf(places, 0);
  const dtype = dtypeOf(x);
  const wide = operation !== undefined && isHalf(dtype) ? "f32" : dtype;
  const [sorted, order] = sortPlaces(emitter, places);
  let sums = emitter.convert(takeRows(emitter, updates, order), wide);
  if (operation !== undefined) {
    for (let distance = 1; distance < rows; distance *= 2) {
      const samePlace = emitter.compare("EQ", sorted, moved(emitter, sorted, distance));
      const sum = emitter.binary(operation, moved(emitter, sums, distance), sums);
      sums = emitter.select(emitter.broadcast(samePlace, shapeOf(sums), [0]), sum, sums);
    }
    const old = emitter.isZero(x)
      ? emitter.like(sums, 0)
      : emitter.convert(takeRows(emitter, x, sorted), wide);
    sums = emitter.convert(emitter.binary(operation, old, sums), dtype);
  }
  // All but the last row for a place go to distinct places beyond the end, where a scatter ignores them.
  const isLast = emitter.compare("NE", sorted, moved(emitter, sorted, -1));
  const beyond = emitter.binary("add", emitter.iota("i32", [rows], 0), sizeOf(x, 0));
  // The scatter's zeros are in memory. Without the barrier, XLA would let other nodes read their zeros from there.
  const zero = emitter.isZero(x) ? emitter.barrier(emitter.splat(dtype, 0)) : [];
  const table = zero[0] === undefined ? x : emitter.broadcast(zero[0], shapeOf(x), []);
  return replaceRows(emitter, table, emitter.select(isLast, sorted, beyond), sums);
}

/** Moves rows down by `by`, or up if it is negative. The rows that enter hold -1, which is not a place. */
function moved(emitter: Emitter, x: Operand, by: number): Operand {
  const none: readonly number[] = range(rankOf(x)).map(() => 0);
  return emitter.pad(x, emitter.splat(dtypeOf(x), -1), none.with(0, by), none.with(0, -by));
}

/** Sorts places [N] stably. @returns the sorted places, and their positions before the sort */
function sortPlaces(emitter: Emitter, places: Operand): readonly [sorted: Operand, order: Operand] {
  const pair = [places, emitter.iota("i32", shapeOf(places), 0)];
  const sorted = stableSort(emitter, pair, 0, (a, b) => emitter.compare("LT", a, b));
  return sorted as readonly [Operand, Operand];
}

/** Writes rows at places that are all different. */
function replaceRows(emitter: Emitter, x: Operand, places: Operand, rows: Operand): Operand {
  const scalar: ValueType = { dtype: dtypeOf(x), shape: [] };
  const body = emitter.region([scalar, scalar], (args) => args.slice(1));
  const kept = range(rankOf(x)).slice(1);
  return emitter.emit(
    `"stablehlo.scatter"(${namesText([x, places, rows])}) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = ${listText(kept)}, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = true}> (${body}) : (${typesText([x, places, rows])}) -> ${typeText(x.type)}`,
    x.type,
  );
}
