import { describe, expect, it } from "vitest";
import type { Value, ValueType } from "../graph.js";
import { GraphBuilder } from "./builder.js";

const f32 = (...shape: number[]): ValueType => ({ dtype: "f32", shape });

function negative() {
  const builder = new GraphBuilder();
  const x = builder.input("x", f32(2, 3), "batch");
  return builder.finish({ y: builder.emitOne("Neg", [x], {}) });
}

describe("inline", () => {
  it.each<readonly [string, ValueType, string, string]>([
    [
      "shape",
      f32(3, 2),
      "MP_SHAPE_MISMATCH",
      'inline: input "x" must be f32[2, 3], got f32[3, 2]; reshape or cast the value first',
    ],
    [
      "dtype",
      { dtype: "f16", shape: [2, 3] },
      "MP_DTYPE_MISMATCH",
      'inline: input "x" must be f32[2, 3], got f16[2, 3]; reshape or cast the value first',
    ],
  ])("refuses a value of another %s, naming the input, and appends nothing", (_, type, code, message) => {
    const builder = new GraphBuilder();
    const given = builder.input("given", type, "batch");
    expect(() => builder.inline(negative(), [given])).toThrow(expect.objectContaining({ code, message }));
    expect(builder.nodes).toEqual([]);
  });

  it("refuses a value that is missing or of another graph", () => {
    const builder = new GraphBuilder();
    const foreign = new GraphBuilder().input("x", f32(2, 3), "batch");
    const cases: readonly (readonly [readonly Value[], string])[] = [
      [[], 'inline: there is no value for input "x"'],
      [[foreign], 'inline: the value for input "x" is a value of another graph'],
    ];
    for (const [values, message] of cases) {
      expect(() => builder.inline(negative(), values)).toThrow(
        expect.objectContaining({
          code: "MP_INVALID_ARGUMENT",
          message: expect.stringContaining(message) as string,
        }),
      );
    }
    expect(() => builder.emitOne("Neg", [foreign], {})).toThrow(
      expect.objectContaining({
        code: "MP_INVALID_ARGUMENT",
        message: expect.stringMatching(/^Neg: /) as string,
      }),
    );
  });
});
