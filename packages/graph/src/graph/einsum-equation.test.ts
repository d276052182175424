import { describe, expect, it } from "vitest";
import { contractionPath } from "./contraction-path.js";
import { explicitEquation, readContraction } from "./einsum-equation.js";
import { inferTypes } from "./infer/infer.js";

const shapeOf = (equation: string, ...shapes: readonly (readonly number[])[]) =>
  inferTypes(
    "Einsum",
    shapes.map((shape) => ({ dtype: "f32" as const, shape })),
    { equation },
  )[0]?.shape;

describe("the equation of Einsum", () => {
  it.each([
    ["ij,jk->ik", [[2, 3], [3, 4]], [2, 4]],
    ["ij,jk", [[2, 3], [3, 4]], [2, 4]],
    [" i j , j k -> i k ", [[2, 3], [3, 4]], [2, 4]],
    ["ba", [[2, 3]], [3, 2]],
    ["bA", [[2, 3]], [3, 2]],
    ["ii", [[3, 3]], []],
    ["ii->i", [[3, 3]], [3]],
    ["iji->j", [[3, 2, 3]], [2]],
    ["->", [[]], []],
    [",", [[], []], []],
    ["i,->i", [[3], []], [3]],
    ["...ij,...jk->...ik", [[5, 1, 2, 3], [1, 7, 3, 4]], [5, 7, 2, 4]],
    ["...ij,...jk", [[2, 3], [3, 4]], [2, 4]],
    ["i...j->j...", [[2, 3, 4, 5]], [5, 3, 4]],
    ["...", [[2, 3]], [2, 3]],
    ["...,...", [[2, 1], [1, 3]], [2, 3]],
    ["ij->...ij", [[2, 3]], [2, 3]],
    ["...i->i", [[3]], [3]],
    ["ij,jk,kl->il", [[2, 3], [3, 4], [4, 5]], [2, 5]],
    ["ij,jk->ik", [[2, 0], [0, 4]], [2, 4]],
  ] as const)("%s", (equation, shapes, result) => {
    expect(shapeOf(equation, ...shapes)).toEqual(result);
  }); // biome-ignore format: one equation a line

  it("becomes explicit and loses its spaces", () => {
    expect(explicitEquation(" b i , a i ")).toBe("bi,ai->ab");
    expect(explicitEquation("...ij")).toBe("...ij->...ij");
  });

  it.each([
    ["ij,jk->ik", [[2, 3]], "MP_INVALID_ARGUMENT", 'equation "ij,jk->ik" has 2 terms, got 1 operand'],
    ["ij->", [[2]], "MP_SHAPE_MISMATCH", 'equation "ij->": operand 0 of [2] has 1 axes, its term "ij" 2'],
    ["i->i", [[2, 3]], "MP_SHAPE_MISMATCH", 'equation "i->i": operand 0 of [2, 3] has 2 axes, its term "i" 1'],
    ["ij...->", [[2]], "MP_SHAPE_MISMATCH", 'operand 0 of [2] has 1 axes, its term "ij..." at least 2'],
    ["ij,jk", [[2, 3], [4, 5]], "MP_SHAPE_MISMATCH", "j is 3 in operand 0 and 4 in operand 1"],
    ["ij,jk", [[2, 1], [4, 5]], "MP_SHAPE_MISMATCH", "j is 1 in operand 0 and 4 in operand 1"],
    ["ii", [[2, 3]], "MP_SHAPE_MISMATCH", "i is 2 in operand 0 and 3 in operand 0"],
    ["...i,...i", [[2, 3], [4, 3]], "MP_SHAPE_MISMATCH", "an axis of ... is 2 in operand 0 and 4 in operand 1"],
    ["...i,...i", [[2, 3], [3]], "MP_SHAPE_MISMATCH", "... stands for 1 axes in operand 0 and for 0 in operand 1"],
    ["...i->i", [[2, 3]], "MP_INVALID_ARGUMENT", "leaves out of its result the axes that ... stands for"],
    ["i->j", [[2]], "MP_INVALID_ARGUMENT", "has the letter j in its result and in no operand"],
    ["i->ii", [[2]], "MP_INVALID_ARGUMENT", 'repeats a letter in its result "ii"'],
    ["i->i->i", [[2]], "MP_INVALID_ARGUMENT", "has more than one ->"],
    ["i1->i", [[2]], "MP_INVALID_ARGUMENT", 'has the term "i1"; a term is letters and at most one ...'],
    ["..i->i", [[2]], "MP_INVALID_ARGUMENT", 'has the term "..i"'],
    ["...i...", [[2]], "MP_INVALID_ARGUMENT", 'has the term "...i..."'],
  ] as const)("%s is refused", (equation, shapes, code, message) => {
    expect(() => shapeOf(equation, ...shapes)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    );
  }); // biome-ignore format: one equation a line

  it("refuses what is no text, operands of two dtypes and bools", () => {
    const type = (dtype: "f32" | "f16" | "bool") => ({ dtype, shape: [2] });
    expect(() => inferTypes("Einsum", [type("f32")], { equation: 1 as unknown as string })).toThrow(
      "equation must be a string",
    );
    expect(() => inferTypes("Einsum", [type("f32"), type("f16")], { equation: "i,i" })).toThrow(
      "f32 and f16",
    );
    expect(() => inferTypes("Einsum", [type("bool")], { equation: "i" })).toThrow("is bool");
  });

  it("multiplies the cheapest pair first", () => {
    const contraction = readContraction("ij,jk,kl->il", [
      [100, 100],
      [100, 100],
      [100, 1],
    ]);
    expect(contractionPath(contraction).pairings.map(({ left, right }) => [left, right])).toEqual([
      [1, 2],
      [0, 1],
    ]);
  });
});
