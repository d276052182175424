import type { DType } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { reduce } from "./fold.js";
import { Emitter, type Operand } from "./index.js";

/** The names of the operations that `emit` appends, without the constants. */
function operations(
  emit: (emitter: Emitter, x: Operand, y: Operand) => unknown,
  isProcessor = false,
): string[] {
  const emitter = new Emitter({ tf32: false, isProcessor, devices: 1 });
  const operand = (name: string): Operand => ({ name, type: { dtype: "f32" as DType, shape: [2] } });
  emit(emitter, operand("%x"), operand("%y"));
  return [...emitter.text().matchAll(/= "?(?:stablehlo|chlo)\.(\w+)/g)].flatMap(([, name]) =>
    name === undefined || name === "constant" ? [] : [name],
  );
}

describe("operations that XLA would merge", () => {
  it("are fenced where both have constants, also through a movement", () => {
    expect(
      operations((emitter, x) => {
        const product = emitter.binary("multiply", x, 3);
        return emitter.binary("multiply", emitter.reshape(product, [1, 2]), 7);
      }),
    ).toEqual(["multiply", "reshape", "reduce_precision", "multiply"]);
    expect(operations((emitter, x) => emitter.binary("subtract", emitter.binary("add", x, 3), 3))).toEqual([
      "add",
      "reduce_precision",
      "subtract",
    ]);
  });

  it("are fenced where a quotient is divided or divides", () => {
    expect(
      operations((emitter, x, y) => emitter.binary("divide", emitter.binary("divide", x, y), y)),
    ).toEqual(["divide", "reduce_precision", "divide"]);
    expect(
      operations((emitter, x, y) => emitter.binary("divide", x, emitter.binary("divide", x, y))),
    ).toEqual(["divide", "reduce_precision", "divide"]);
  });

  it("stay as they are where 8-bit codes are between them", () => {
    const emit = (emitter: Emitter, x: Operand, scale: number) => {
      const codes = emitter.convert(emitter.binary("multiply", x, scale), "f8e5m2");
      return emitter.binary("multiply", emitter.convert(codes, "f32"), 7);
    };
    expect(operations((emitter, x) => emit(emitter, x, 3))).toEqual([
      "multiply",
      "convert",
      "convert",
      "multiply",
    ]);
  });

  it("stay as they are with one constant, or none", () => {
    expect(
      operations((emitter, x, y) => emitter.binary("multiply", emitter.binary("multiply", x, 3), y)),
    ).toEqual(["multiply", "multiply"]);
  });
});

describe("a sum with zeros", () => {
  it("is what it changes, the sign of zeros", () => {
    expect(operations((emitter, x) => emitter.binary("add", x, 0))).toEqual(["compare", "select"]);
    expect(operations((emitter, x) => emitter.binary("subtract", x, -0))).toEqual(["compare", "select"]);
    expect(operations((emitter, x) => emitter.binary("subtract", x, 0))).toEqual([]);
    expect(operations((emitter, x) => emitter.binary("subtract", emitter.like(x, -0), x))).toEqual([
      "negate",
    ]);
  });
});

describe("for a processor", () => {
  it("a maximum is fenced in its reduction", () => {
    const maximum = (emitter: Emitter, x: Operand) => reduce(emitter, "maximum", x, [0]);
    expect(operations(maximum)).toEqual(["reduce", "maximum"]);
    expect(operations(maximum, true)).toEqual(["reduce", "maximum", "reduce_precision"]);
  });
});
