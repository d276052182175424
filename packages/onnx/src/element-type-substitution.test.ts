// Element types that a graph does not have, read as others.
import { create, toBinary } from "@bufbuild/protobuf";
import { type HostTensor, tensor } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { refusal } from "../test/small-models.js";
import { decodeModel } from "./decode.js";
import {
  AttributeProto_AttributeType,
  GraphProtoSchema,
  ModelProtoSchema,
  type TensorProto,
  TensorProto_DataType,
  TensorProtoSchema,
  ValueInfoProtoSchema,
} from "./proto/onnx_pb.js";
import { readGraph } from "./read/read.js";
import type { ReadAs } from "./read-as.js";

const { DOUBLE, INT8, UINT16, UINT32, FLOAT } = TensorProto_DataType;

type Init = Parameters<typeof create<typeof TensorProtoSchema>>[1];
const proto = (name: string, dataType: number, data: Init): TensorProto =>
  create(TensorProtoSchema, { name, dataType, dims: [2n], ...(data as object) });

const info = (name: string, elemType: number) =>
  create(ValueInfoProtoSchema, {
    name,
    type: {
      value: {
        case: "tensorType",
        value: { elemType, shape: { dim: [{ value: { case: "dimValue", value: 2n } }] } },
      },
    },
  });

interface Model {
  readonly type: number;
  readonly op: string;
  readonly held?: Init;
  /** Element type of the result. */
  readonly made?: number;
  readonly to?: number;
}

/** The bytes of a model with one node that reads x, of element type `type`, and an initializer if `held` is given. */
function bytesOf({ type, op, held, made = type, to }: Model): Uint8Array {
  const attribute =
    to === undefined ? [] : [{ name: "to", type: AttributeProto_AttributeType.INT, i: BigInt(to) }];
  const graph = create(GraphProtoSchema, {
    name: "g",
    node: [{ opType: op, input: held === undefined ? ["x"] : ["x", "y/wide"], output: ["y"], attribute }],
    input: [info("x", type)],
    output: [info("y", made)],
    initializer: held === undefined ? [] : [proto("y/wide", type, held)],
  });
  const opsetImport = [{ domain: "", version: 23n }];
  return toBinary(ModelProtoSchema, create(ModelProtoSchema, { irVersion: 10n, opsetImport, graph }));
}

function resultOf(model: Model, readAs: ReadAs, x: HostTensor): readonly number[] {
  const { graph } = readGraph(decodeModel(bytesOf(model), { readAs }), { isParameter: () => false });
  return Array.from(evaluate(graph, { x })["y"]?.data ?? [], Number);
}

const integers = (...values: readonly number[]) => tensor(Int32Array.from(values), [values.length]);

describe("integers of few bits", () => {
  it.each<readonly [string, readonly number[], Init, readonly number[]]>([
    ["Add", [-56, 0], { int32Data: [100, 1] }, [100, -1]],
    ["Mul", [16, -128], { rawData: Uint8Array.of(4, 1) }, [100, -128]],
    ["Sub", [126, -128], { int32Data: [1, 1] }, [127, -127]],
    ["Div", [-128, 3], { rawData: Uint8Array.of(255, 2) }, [-128, 7]],
    ["Max", [100, 5], { int32Data: [100, 1] }, [-100, 5]],
  ])("%s wraps around as INT8 does", (op, wanted, held, x) => {
    const given = op === "Mul" ? integers(4, -128) : integers(...x);
    const found = resultOf({ type: INT8, op, held }, { INT8: "i32" }, given);
    expect(found).toEqual(wanted);
  });

  it("without a sign too, in a wider type than that of a larger one", () => {
    const times = resultOf(
      { type: UINT16, op: "Mul", held: { int32Data: [65535, 2] } },
      { UINT16: "i32" },
      integers(65535, 3),
    );
    expect(times).toEqual([1, 6]);
    const x = tensor(BigInt64Array.of(5n, 7n), [2]);
    const minus = resultOf({ type: UINT32, op: "Sub", held: { uint64Data: [6n, 7n] } }, { UINT32: "i64" }, x);
    expect(minus).toEqual([2 ** 32 - 1, 0]);
  });

  it("are what a cast makes of a number beyond them", () => {
    const x = tensor(Float32Array.of(300, -1.5), [2]);
    expect(resultOf({ type: FLOAT, op: "Cast", made: INT8, to: INT8 }, { INT8: "i32" }, x)).toEqual([44, -1]);
  });

  it("are what a branch gives, which wraps around after it too; those of a loop are refused", () => {
    const { GRAPH } = AttributeProto_AttributeType;
    const bytes = (opType: string): Uint8Array => {
      const body = {
        name: "body",
        node: [{ opType: "Identity", input: ["x"], output: ["z"] }],
        output: [info("z", INT8)],
      };
      const attribute = ["then_branch", "else_branch"].map((name) => ({ name, type: GRAPH, g: body }));
      const graph = create(GraphProtoSchema, {
        name: "g",
        node: [
          { opType, input: ["c"], output: ["w"], attribute },
          { opType: "Mul", input: ["w", "w"], output: ["y"] },
        ],
        input: [info("x", INT8)],
        output: [info("y", INT8)],
        initializer: [{ name: "c", dataType: TensorProto_DataType.BOOL, rawData: Uint8Array.of(1) }],
      });
      const opsetImport = [{ domain: "", version: 23n }];
      return toBinary(ModelProtoSchema, create(ModelProtoSchema, { irVersion: 10n, opsetImport, graph }));
    };
    const { graph } = readGraph(decodeModel(bytes("If"), { readAs: { INT8: "i32" } }));
    expect(Array.from(evaluate(graph, { x: integers(16, -128) })["y"]?.data ?? [], Number)).toEqual([0, 0]);
    const x = integers(12, 100);
    expect(Array.from(evaluate(graph, { x })["y"]?.data ?? [], Number)).toEqual([-112, 16]);
    expect(refusal(() => decodeModel(bytes("Loop"), { readAs: { INT8: "i32" } }))).toMatch(
      /MP_UNSUPPORTED: onnx: Loop .* computes in INT8/,
    );
  });

  it("are refused in an operator whose numbers are not known", () => {
    const read = () => decodeModel(bytesOf({ type: INT8, op: "Softmax" }), { readAs: { INT8: "i32" } });
    expect(refusal(read)).toContain("MP_UNSUPPORTED: onnx: Softmax");
    expect(refusal(read)).toContain("computes in INT8, which is read as i32");
  });

  it("are refused where the file holds others", () => {
    const read = () =>
      decodeModel(bytesOf({ type: INT8, op: "Add", held: { int32Data: [200, 1] } }), {
        readAs: { INT8: "i32" },
      });
    expect(refusal(read)).toContain("MP_PARSE");
  });
});

describe("f64", () => {
  const ofDoubles = (...values: readonly number[]): Model => ({
    type: DOUBLE,
    op: "Add",
    held: { doubleData: [...values] },
  });

  it("is refused with what to do about it", () => {
    expect(refusal(() => decodeModel(bytesOf(ofDoubles(1, 2))))).toContain('pass readAs: { DOUBLE: "f32" }');
    const read = () => readGraph(decodeModel(bytesOf({ type: DOUBLE, op: "Abs" })));
    expect(refusal(read)).toContain('input "x" is DOUBLE, which has no counterpart here; pass readAs');
  });

  it("is computed in f32", () => {
    const x = tensor(Float32Array.of(1, 2), [2]);
    expect(resultOf(ofDoubles(0.5, -2), { DOUBLE: "f32" }, x)).toEqual([1.5, 0]);
  });

  it.each([
    [1e300, "1e+300, which is Infinity in f32"],
    [1e-60, "1e-60, which is 0 in f32"],
  ])("%s is not rounded to what it is not", (value, message) => {
    const read = () => decodeModel(bytesOf(ofDoubles(value, 0)), { readAs: { DOUBLE: "f32" } });
    expect(refusal(read)).toContain(message);
  });
});

describe("readAs", () => {
  it.each([
    [{ DOUBLE: "f16" }, "DOUBLE is read as f32, got f16"],
    [{ FLOAT64: "f32" }, "FLOAT64"],
    ["f32", "readAs"],
  ])("refuses %o", (readAs, message) => {
    const found = refusal(() =>
      decodeModel(bytesOf({ type: DOUBLE, op: "Abs" }), { readAs: readAs as ReadAs }),
    );
    expect(found).toContain("MP_INVALID_ARGUMENT: decodeModel: readAs");
    expect(found).toContain(message);
  });
});
