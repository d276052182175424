import { describe, expect, it } from "vitest";
import type { HloComputation, HloInstruction } from "./hlo-module.js";
import type { HloShape } from "./shape.js";
import { kernelBytes } from "./traffic.js";

const shape = (...sizes: readonly number[]): HloShape => ({
  type: "f32",
  sizes,
  parts: [],
  bytes: 4 * sizes.reduce((a, b) => a * b, 1),
});

type Parts = Partial<Omit<HloInstruction, "operands" | "users">>;

/** An instruction that its operands know as a reader. */
function instruction(
  opcode: string,
  own: HloShape,
  operands: readonly HloInstruction[] = [],
  parts: Parts = {},
) {
  const made: HloInstruction & { readonly users: HloInstruction[] } = {
    ...{ opcode, shape: own, operands, users: [], called: [], parameter: 0, element: 0 },
    ...{ kind: "", target: "", config: "", message: new Map() },
    ...parts,
  };
  for (const operand of new Set(operands)) (operand.users as HloInstruction[]).push(made);
  return made;
}

const parameter = (index: number, own: HloShape) => instruction("parameter", own, [], { parameter: index });

/** A fusion whose nodes `body` makes of its operands. */
function fusion(
  operands: readonly HloShape[],
  body: (parameters: readonly HloInstruction[]) => HloInstruction,
) {
  const outer = operands.map((own, index) => parameter(index, own));
  const inner = operands.map((own, index) => parameter(index, own));
  const root = body(inner);
  const called: HloComputation = { instructions: [...inner, root], root };
  return instruction("fusion", root.shape, outer, { called: [called] });
}

const FULL = shape(1024, 64);
const ROW = shape(1, 64);
const INDEX = shape();

describe("bytes of a kernel", () => {
  it("counts operands and results once, also one that is read twice", () => {
    expect(
      kernelBytes(
        fusion([FULL], ([x]) =>
          instruction(
            "add",
            FULL,
            [x, x].flatMap((v) => v ?? []),
          ),
        ),
      ),
    ).toBe(2 * FULL.bytes);
  });

  it("counts the part of an operand that is sliced, also behind a cast", () => {
    const sliced = fusion([FULL, INDEX], ([x, at]) => {
      const wide = instruction("convert", FULL, [x as HloInstruction]);
      return instruction("dynamic-slice", ROW, [wide, at as HloInstruction]);
    });
    expect(kernelBytes(sliced)).toBe(2 * ROW.bytes + INDEX.bytes);
  });

  it("counts all of an operand that is also read whole", () => {
    const both = fusion([FULL], ([x]) => {
      const part = instruction("slice", ROW, [x as HloInstruction]);
      const sum = instruction("reduce", ROW, [x as HloInstruction]);
      return instruction("add", ROW, [part, sum]);
    });
    expect(kernelBytes(both)).toBe(FULL.bytes + ROW.bytes);
  });

  it("counts the part that is updated in place", () => {
    const updated = fusion([FULL, ROW, INDEX], ([x, row, at]) =>
      instruction(
        "dynamic-update-slice",
        FULL,
        [x, row, at].flatMap((v) => v ?? []),
      ),
    );
    expect(kernelBytes(updated)).toBe(2 * ROW.bytes + INDEX.bytes);
  });

  it("counts a whole copy where the old values are read on", () => {
    const copied = fusion([FULL, ROW, INDEX], ([x, row, at]) => {
      const next = instruction(
        "dynamic-update-slice",
        FULL,
        [x, row, at].flatMap((v) => v ?? []),
      );
      return instruction("multiply", FULL, [next, next]);
    });
    expect(kernelBytes(copied)).toBe(2 * FULL.bytes + ROW.bytes + INDEX.bytes);
  });
});
