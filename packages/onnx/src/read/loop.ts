import { type Graph, type GraphOutput, type OpOf, tensor, type Value, type ValueType } from "@mp/graph";
import { invariantsFromMetadata } from "../invariants.js";
import { COUNTED_KEY, SAVED_KEY } from "../metadata-keys.js";
import type { OnnxGraph } from "../model.js";
import { toNumbers } from "../numbers.js";
import type { BodyInput, NodeReader, ReaderTable, ReadNode } from "./node/node-reader.js";

/** Moves one axis to another position. */
function moveAxis(reader: NodeReader, value: Value, from: number, to: number): Value {
  const { length: rank } = value.shape;
  const [start, end] = [reader.fromFront(from, rank), reader.fromFront(to, rank)];
  if (start === end) return value;
  const others = Array.from({ length: rank }, (_, axis) => axis).filter((axis) => axis !== start);
  return reader.emitOne("Transpose", [value], { perm: others.toSpliced(end, 0, start) });
}

/** Reverses the first axis. */
function reverseTime(reader: NodeReader, value: Value): Value {
  const [length = 0] = value.shape;
  return reader.emitOne("Slice", [value], { starts: [length - 1], ends: [-1], axes: [0], steps: [-1] });
}

function savedCount({ node, isVerbatim }: NodeReader): number {
  const saved = Number((isVerbatim ? node.metadata[SAVED_KEY] : undefined) ?? 0);
  return Number.isSafeInteger(saved) ? saved : 0;
}

/**
 * Reads a Scan. In ONNX each sequence and result may have its own axis and direction; in graphs all have axis
 * 0 and the same direction.
 */
const scan: ReadNode = (reader) => {
  const { metadata } = reader.node;
  const isOurs = reader.isVerbatim;
  const sequences = reader.int("num_scan_inputs");
  const carries = reader.operandCount - sequences;
  const onnx = reader.graph("body");
  const stacked = onnx.outputs.length - carries;
  if (sequences < 1 || carries < 0 || stacked < 0) return reader.unsupported("counts more than it has");
  const list = (name: string, count: number): readonly number[] =>
    reader.ints(name) ?? Array<number>(count).fill(0);
  const axesIn = list("scan_input_axes", sequences);
  const directionsIn = list("scan_input_directions", sequences);
  const axesOut = list("scan_output_axes", stacked);
  const directionsOut = list("scan_output_directions", stacked);
  const reverse = directionsIn.every((direction) => direction === 1);
  const isFlipped = (direction: number): boolean => (direction === 1) !== reverse;
  const starts = reader.operands(carries);
  const read = (onnx: OnnxGraph, elements: readonly ValueType[]) =>
    reader.body(
      onnx,
      [...starts, ...elements].map((type): BodyInput => ({ type })),
      isOurs ? invariantsFromMetadata(reader.node) : [],
    );
  if (isOurs && metadata[COUNTED_KEY] !== undefined) {
    const [length = 0] = reader.type(carries).shape;
    const { graph, captured } = read({ ...onnx, inputs: onnx.inputs.slice(0, carries) }, []);
    const attributes = { body: graph, carries, sequences: 0, length, reverse, saved: savedCount(reader) };
    return reader.emit("Scan", [...starts, ...captured], attributes);
  }
  const elements = axesIn.map((axis, index) => {
    const first = moveAxis(reader, reader.operand(carries + index), axis, 0);
    return isFlipped(directionsIn[index] ?? 0) ? reverseTime(reader, first) : first;
  });
  const [length] = elements[0]?.shape ?? [];
  if (length === undefined || length === 0) return reader.unsupported("has sequences without elements");
  const { graph, captured } = read(
    onnx,
    elements.map(({ dtype, shape }) => ({ dtype, shape: shape.slice(1) })),
  );
  const attributes = { body: graph, carries, sequences, length, reverse, saved: savedCount(reader) };
  const results = reader.emit("Scan", [...starts, ...elements, ...captured], attributes);
  return results.map((result, index) => {
    if (index < carries) return result;
    const [axis = 0, direction = 0] = [axesOut[index - carries], directionsOut[index - carries]];
    return moveAxis(reader, isFlipped(direction) ? reverseTime(reader, result) : result, 0, axis);
  });
};

/** Reads a Loop with a constant number of steps as a scan; a sequence of integers replaces the counter. */
export const readLoop: ReadNode = (reader) => {
  const [trips] = reader.integers(0) ?? [];
  if (trips === undefined || trips < 1) return reader.unsupported("makes no known number of steps");
  const [condition = 1] = reader.integers(1) ?? [];
  const onnx = reader.graph("body");
  const carries = reader.operandCount - 2;
  if (condition !== 1 || onnx.outputs.length < carries + 1) return reader.unsupported("may make no step");
  const starts = Array.from({ length: carries }, (_, index) => reader.operand(index + 2));
  const body = reader.body(onnx, [
    { type: { dtype: "i64", shape: [] } },
    { constant: tensor(Uint8Array.of(1), [], "bool") },
    ...starts.map((type): BodyInput => ({ type })),
  ]);
  const goesOn = body.known.get(0);
  if (goesOn === undefined || toNumbers(goesOn)[0] !== 1)
    return reader.unsupported("decides in each step whether to go on; here the number of steps is known");
  const [counter, ...others] = body.graph.inputs;
  if (counter === undefined) throw new Error("internal: a body without inputs");
  const isCounting = body.graph.nodes.some(({ inputs }) => inputs.includes(counter.value));
  const isReturned = body.graph.outputs.some(({ value }) => value === counter.value);
  const counts = isCounting || isReturned;
  const inputs = [...others.slice(0, carries), ...(counts ? [counter] : []), ...others.slice(carries)];
  const outputs: readonly GraphOutput[] = body.graph.outputs.slice(1);
  const graph: Graph = { ...body.graph, inputs, outputs };
  // A constant would let a short file ask for any number of steps.
  const numbers = { start: 0, limit: trips, delta: 1, dtype: "i64" } as const;
  const sequence = counts ? [reader.emitOne("Range", [], numbers)] : [];
  return reader.emit("Scan", [...starts, ...sequence, ...body.captured], {
    body: graph,
    carries,
    sequences: sequence.length,
    length: trips,
    reverse: false,
    saved: 0,
  });
};

export const loopReaders: ReaderTable<OpOf<"loop">> = { Scan: scan };
