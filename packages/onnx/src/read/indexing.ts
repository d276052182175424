import { isFloat, type OpOf, type ScatterReduction, type Tensor } from "@mp/graph";
import { constant, equal, oneHot, where } from "@mp/graph/ops";
import { literals } from "../literals.js";
import { toNumbers } from "../numbers.js";
import { integers } from "./movement.js";
import type { NodeReader, ReaderTable, ReadNode } from "./node/node-reader.js";

const REDUCTIONS: readonly [ScatterReduction, ...ScatterReduction[]] = ["none", "add", "mul", "max", "min"];

const scatterReduction = (reader: NodeReader): ScatterReduction =>
  reader.choice("reduction", REDUCTIONS, "reduces by");

const gather =
  (op: "Gather" | "GatherElements"): ReadNode =>
  (reader) => {
    const x = reader.operand(0);
    const axis = reader.axis(x.shape.length, 0);
    return [reader.emitOne(op, [x, reader.indices(1)], { axis })];
  };

export const indexingReaders: ReaderTable<OpOf<"indexing">> = {
  Gather: gather("Gather"),
  GatherElements: gather("GatherElements"),
  GatherND: (reader) => {
    const batchDims = reader.int("batch_dims", 0);
    return [reader.emitOne("GatherND", [reader.operand(0), reader.indices(1)], { batchDims })];
  },
  ScatterElements: (reader) => {
    const x = reader.operand(0);
    const axis = reader.axis(x.shape.length, 0);
    const operands = [x, reader.indices(1), reader.operand(2)];
    return [reader.emitOne("ScatterElements", operands, { axis, reduction: scatterReduction(reader) })];
  },
  ScatterND: (reader) => {
    const operands = [reader.operand(0), reader.indices(1), reader.operand(2)];
    return [reader.emitOne("ScatterND", operands, { reduction: scatterReduction(reader) })];
  },
  OneHot: (reader) => {
    const [depth] = integers(reader, 1, "depth");
    const values = reader.constant(2);
    if (depth === undefined || values === undefined) return reader.unsupported("has no depth or no values");
    const { dtype } = values;
    const [off = 0, on = 1] = toNumbers(values);
    const isPlain = off === 0 && on === 1 && (dtype === "f32" || dtype === "f16" || dtype === "i32");
    const given = reader.indices(0);
    const indices = isFloat(given.dtype) ? reader.emitOne("Cast", [given], { to: "i32" }) : given;
    const axis = reader.axis(indices.shape.length + 1, -1);
    if (isPlain) return [reader.emitOne("OneHot", [indices], { axis, depth, dtype })];
    const value = (number: number): Tensor => constant(literals([number], dtype, []));
    return reader.compose([indices], (at) =>
      where(equal(oneHot(at, depth, { axis, dtype: "i32" }), 1), value(on), value(off)),
    );
  },
};
