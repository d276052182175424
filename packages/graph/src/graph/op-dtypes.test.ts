import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DTYPES, type DType, isFloat } from "../dtype.js";
import { MpError } from "../errors.js";
import type { Op, OpAttributes } from "./attributes.js";
import type { ValueType } from "./graph.js";
import { inferTypes } from "./infer/infer.js";
import { decidingDType, opDTypes } from "./op-dtypes.js";

interface OpCase {
  readonly op: Op;
  readonly attributes: OpAttributes[Op];
  readonly inputs: readonly ValueType[];
}

const cases = JSON.parse(
  readFileSync(new URL("../../test/fixtures/op-cases.json", import.meta.url), "utf8"),
) as readonly OpCase[];

/** A case's operands, with another dtype in place of the deciding dtype. */
function withDType({ inputs, op, attributes }: OpCase, dtype: DType): readonly ValueType[] {
  const decides = decidingDType({ op, inputs, outputs: inferTypes(op, inputs, attributes) });
  return inputs.map((input) => (input.dtype === decides ? { ...input, dtype } : input));
}

const accepts = (op: Op, inputs: readonly ValueType[], attributes: OpAttributes[Op]): boolean => {
  try {
    inferTypes(op, inputs, attributes);
    return true;
  } catch (error) {
    if (MpError.is(error)) return false;
    throw error;
  }
};

describe("opDTypes", () => {
  const firstOfEach = [...new Map([...cases].reverse().map((entry) => [entry.op, entry])).values()].filter(
    // Cast's result and Mod's attribute take part in what is legal.
    ({ op, inputs }) => inputs.length > 0 && !["Cast", "Mod"].includes(op),
  );

  it.each(firstOfEach.map((entry) => [entry.op, entry] as const))(
    "%s is what inference takes",
    (op, entry) => {
      const taken = DTYPES.filter((dtype) => accepts(op, withDType(entry, dtype), entry.attributes));
      expect(taken).toEqual(DTYPES.filter((dtype) => opDTypes[op].includes(dtype)));
    },
  );

  it("Mod takes floats with fmod and integers without", () => {
    const taken = (fmod: boolean): readonly DType[] =>
      DTYPES.filter((dtype) =>
        accepts(
          "Mod",
          [0, 1].map(() => ({ dtype, shape: [] })),
          { fmod },
        ),
      );
    expect(new Set([...taken(true), ...taken(false)])).toEqual(new Set(opDTypes.Mod));
    expect(taken(true).every(isFloat)).toBe(true);
  });

  it("the first floating operand decides, else the first, else the result; of Where what is chosen from", () => {
    const of = (op: Op, inputs: readonly DType[], output: DType): DType =>
      decidingDType({
        op,
        inputs: inputs.map((dtype) => ({ dtype, shape: [] })),
        outputs: [{ dtype: output, shape: [] }],
      });
    expect(of("Where", ["bool", "f16", "f16"], "f16")).toBe("f16");
    expect(of("Where", ["bool", "i32", "i32"], "i32")).toBe("i32");
    expect(of("Gather", ["f32", "i32"], "f32")).toBe("f32");
    expect(of("OneHot", ["i32"], "f16")).toBe("i32");
    expect(of("Range", [], "u8")).toBe("u8");
  });
});
