import type { Tensor } from "@mp/core";
import { isFloat, type OpOf, type ScatterReduction } from "@mp/core/graph";
import { constant, equal, oneHot, where } from "@mp/core/ops";
import { literals } from "../literals.js";
import { numbersOf } from "../numbers.js";
import { quote } from "../problem.js";
import { integers } from "./movement.js";
import { axisOf } from "./node/axis.js";
import type { NodeReader, ReaderTable } from "./node/node-reader.js";
import { traced } from "./node/traced.js";

const SCATTER_REDUCTIONS: readonly ScatterReduction[] = ["none", "add", "mul", "max", "min"];

function scatterReduction(reader: NodeReader): ScatterReduction {
  const name = reader.string("reduction", "none");
  return (
    SCATTER_REDUCTIONS.find((known) => known === name) ?? reader.unsupported(`reduces by ${quote(name)}`)
  );
}

export const indexingReaders: ReaderTable<OpOf<"indexing">> = {
  Gather: (reader) => {
    const x = reader.operand(0);
    const axis = axisOf(reader, reader.int("axis", 0), x.shape.length);
    return [reader.emitOne("Gather", [x, reader.indices(1)], { axis })];
  },
  GatherElements: (reader) => {
    const x = reader.operand(0);
    const axis = axisOf(reader, reader.int("axis", 0), x.shape.length);
    return [reader.emitOne("GatherElements", [x, reader.indices(1)], { axis })];
  },
  GatherND: (reader) => {
    const batchDims = reader.int("batch_dims", 0);
    return [reader.emitOne("GatherND", [reader.operand(0), reader.indices(1)], { batchDims })];
  },
  ScatterElements: (reader) => {
    const x = reader.operand(0);
    const axis = axisOf(reader, reader.int("axis", 0), x.shape.length);
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
    const [off = 0, on = 1] = numbersOf(values);
    const isPlain = off === 0 && on === 1 && (dtype === "f32" || dtype === "f16" || dtype === "i32");
    const given = reader.indices(0);
    const indices = isFloat(given.dtype) ? reader.emitOne("Cast", [given], { to: "i32" }) : given;
    const axis = axisOf(reader, reader.int("axis", -1), indices.shape.length + 1);
    if (isPlain) return [reader.emitOne("OneHot", [indices], { axis, depth, dtype })];
    const chosen = (at: Tensor): Tensor => {
      const isOn = equal(oneHot(at, depth, { axis, dtype: "i32" }), 1);
      const [other, one] = [off, on].map((value) => constant(literals([value], dtype, [])));
      return where(isOn, one as Tensor, other as Tensor);
    };
    return [traced(reader, [indices], chosen)];
  },
};
