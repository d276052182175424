import {
  isHalf,
  type OpAttributes,
  type OpOf,
  type ScatterReduction,
  type Shape,
  sameShape,
  stridesOf,
  type Value,
} from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { count, dtypeOf, type Operand, range, rankOf, shapeOf, sizeOf } from "../stablehlo/operand.js";
import type { BinaryOperation } from "../stablehlo/operations.js";
import { expectAll, isInside } from "./in-range.js";
import { type Lowering, type LoweringTable, resultType } from "./lowering.js";
import { putRows, takeRows } from "./rows.js";

/**
 * Turns negative indices, which count from the end, into indices from the start. Emits a range check unless
 * the indices are known to be in range. An index out of range selects an arbitrary element.
 * @param sizes size of the indexed axis, or one size for each position along the last axis of `indices`
 */
function fromStart(
  emitter: Emitter,
  value: Value | undefined,
  indices: Operand,
  sizes: readonly number[],
): Operand {
  const [size = 0] = sizes;
  const limits = sizes.every((other) => other === size)
    ? emitter.like(indices, size)
    : emitter.concat(
        sizes.map((own) => emitter.splat("i32", own, shapeOf(indices).with(-1, 1))),
        rankOf(indices) - 1,
      );
  const isNegative = emitter.compare("LT", indices, 0);
  const wrapped = emitter.select(isNegative, emitter.binary("add", indices, limits), indices);
  if (value !== undefined && emitter.knownIndices?.needCheck(value, sizes) !== false)
    expectAll(emitter, isInside(emitter, wrapped, limits));
  return wrapped;
}

/** Computes Σ coordinate · stride (i32), the position of each element in the flattened tensor. */
const positions = (emitter: Emitter, coordinates: readonly Operand[], strides: readonly number[]): Operand =>
  coordinates
    .map((coordinate, axis) => emitter.binary("multiply", coordinate, strides[axis] ?? 1))
    .reduce((sum, part) => emitter.binary("add", sum, part));

/** Turns indices along an axis into positions in the flattened `data`. */
function elementPositions(emitter: Emitter, data: Operand, indices: Operand, axis: number): Operand {
  const coordinates = range(rankOf(data)).map((own) =>
    own === axis ? indices : emitter.iota("i32", shapeOf(indices), own),
  );
  return positions(emitter, coordinates, stridesOf(shapeOf(data)));
}

/** Turns coordinates, along the last axis of `indices`, into the positions of the blocks that they select. */
function blockPositions(emitter: Emitter, data: Operand, indices: Operand, batchDims = 0): Operand {
  const outer = shapeOf(indices).slice(0, -1);
  const last = outer.length;
  const depth = sizeOf(indices, last);
  const batch = range(batchDims).map((axis) => emitter.iota("i32", outer, axis));
  const own = range(depth).map((at) => emitter.reshape(emitter.sliceAxis(indices, last, at, at + 1), outer));
  return positions(emitter, [...batch, ...own], stridesOf(shapeOf(data).slice(0, batchDims + depth)));
}

const gather: Lowering<"Gather"> = (emitter, node, [x, indices]) => {
  const { axis } = node.attributes;
  const places = fromStart(emitter, node.inputs[1], indices, [sizeOf(x, axis)]);
  return [takeRows(emitter, x, places, axis)];
};

const gatherElements: Lowering<"GatherElements"> = (emitter, node, [x, indices]) => {
  const { axis } = node.attributes;
  const along = fromStart(emitter, node.inputs[1], indices, [sizeOf(x, axis)]);
  const places = elementPositions(emitter, x, along, axis);
  return [takeRows(emitter, emitter.reshape(x, [count(shapeOf(x))]), places)];
};

/** Returns the sizes of the indexed axes, and the shape of `data` with batch and indexed axes merged. */
function blocksOf(
  data: Operand,
  indices: Operand,
  batchDims = 0,
): { readonly sizes: Shape; readonly blocks: Shape } {
  const end = batchDims + sizeOf(indices, rankOf(indices) - 1);
  const shape = shapeOf(data);
  return { sizes: shape.slice(batchDims, end), blocks: [count(shape.slice(0, end)), ...shape.slice(end)] };
}

const gatherND: Lowering<"GatherND"> = (emitter, node, [x, indices]) => {
  const { batchDims } = node.attributes;
  const { sizes, blocks } = blocksOf(x, indices, batchDims);
  const tuples = fromStart(emitter, node.inputs[1], indices, sizes);
  const places = blockPositions(emitter, x, tuples, batchDims);
  return [takeRows(emitter, emitter.reshape(x, blocks), places)];
};

const operations: Readonly<Record<ScatterReduction, BinaryOperation | undefined>> = {
  none: undefined,
  add: "add",
  mul: "multiply",
  max: "maximum",
  min: "minimum",
};

/** Writes updates to `data`, seen as R rows (blocks) of W elements, at the given rows. */
function scatterBlocks(
  emitter: Emitter,
  data: Operand,
  places: Operand,
  updates: Operand,
  blocks: Shape,
  reduction: ScatterReduction,
): Operand {
  if (count(shapeOf(updates)) === 0) return data;
  const [rows = 1, ...block] = blocks;
  const [taken, width] = [count(shapeOf(places)), count(block)];
  const put = putRows(
    emitter,
    emitter.reshape(data, [rows, width]),
    emitter.reshape(places, [taken]),
    emitter.reshape(updates, [taken, width]),
    operations[reduction],
  );
  return emitter.reshape(put, shapeOf(data));
}

const scatterElements: Lowering<"ScatterElements"> = (emitter, node, [data, indices, updates]) => {
  const { axis, reduction } = node.attributes;
  const along = fromStart(emitter, node.inputs[1], indices, [sizeOf(data, axis)]);
  if (sameShape(shapeOf(indices), shapeOf(data).with(axis, 1)))
    return [selectElements(emitter, data, along, updates, node.attributes)];
  const places = elementPositions(emitter, data, along, axis);
  return [scatterBlocks(emitter, data, places, updates, [count(shapeOf(data))], reduction)];
};

/**
 * Scatters where there is only one index along `axis`. Each result element then takes at most one update, and
 * XLA fuses the operation with its readers. Half dtypes are combined in f32 and rounded once.
 */
function selectElements(
  emitter: Emitter,
  data: Operand,
  along: Operand,
  updates: Operand,
  { axis, reduction }: OpAttributes["ScatterElements"],
): Operand {
  const [shape, dtype] = [shapeOf(data), dtypeOf(data)];
  const operation = operations[reduction];
  const wide = operation !== undefined && isHalf(dtype) ? "f32" : dtype;
  const update = emitter.expand(emitter.convert(updates, wide), shape);
  const put =
    operation === undefined ? update : emitter.binary(operation, emitter.convert(data, wide), update);
  const isThere = emitter.compare("EQ", emitter.expand(along, shape), emitter.iota("i32", shape, axis));
  return emitter.select(isThere, emitter.convert(put, dtype), data);
}

const scatterND: Lowering<"ScatterND"> = (emitter, node, [data, indices, updates]) => {
  const { sizes, blocks } = blocksOf(data, indices);
  const tuples = fromStart(emitter, node.inputs[1], indices, sizes);
  const places = blockPositions(emitter, data, tuples);
  return [scatterBlocks(emitter, data, places, updates, blocks, node.attributes.reduction)];
};

const oneHot: Lowering<"OneHot"> = (emitter, node, [indices]) => {
  const { axis, depth, dtype } = node.attributes;
  const { shape } = resultType(node);
  const along = emitter.broadcast(
    fromStart(emitter, undefined, indices, [depth]),
    shape,
    range(shape.length).filter((own) => own !== axis),
  );
  return [emitter.convert(emitter.compare("EQ", along, emitter.iota("i32", shape, axis)), dtype)];
};

export const indexingLowerings: LoweringTable<OpOf<"indexing">> = {
  Gather: gather,
  GatherElements: gatherElements,
  GatherND: gatherND,
  ScatterElements: scatterElements,
  ScatterND: scatterND,
  OneHot: oneHot,
};
