import { describe, expect, it } from "vitest";
import { callback, integer, optional } from "./argument-checks.js";
import { type OptionTable, readOptions, withDefault } from "./option-table.js";

interface Options {
  readonly size: number;
  readonly every?: number;
  readonly onStep?: () => void;
}
const TABLE = {
  size: integer(1),
  every: withDefault(100, integer(1)),
  onStep: optional(callback),
} satisfies OptionTable<Options>;
const read = (options: object) =>
  readOptions("make", options as Options, TABLE, {
    example: "{ size: 3 }",
    elsewhere: { epochs: "there are none; use every" },
  });

describe("readOptions", () => {
  it("fills in defaults, also for what is undefined", () => {
    expect(read({ size: 3 })).toEqual({ size: 3, every: 100, onStep: undefined });
    expect(read({ size: 3, every: undefined })).toEqual({ size: 3, every: 100, onStep: undefined });
    const onStep = (): void => {};
    expect(read({ size: 3, every: 7, onStep })).toEqual({ size: 3, every: 7, onStep });
  });

  it.each([
    [{}, "make: size must be an integer ≥ 1, got undefined"],
    [{ size: 3, every: null }, "make: every must be an integer ≥ 1, got null"],
    [{ size: 3, onStep: "x" }, 'make: onStep must be a function, got "x"'],
    [{ size: 3, evry: 1 }, 'make: has no option "evry"; did you mean every?'],
    [{ size: 3, epochs: 1 }, 'make: has no option "epochs"; there are none; use every'],
    [[3], "make: takes options such as { size: 3 }, got [3]"],
  ])("refuses %o", (options, message) => {
    expect(() => read(options)).toThrow(message);
    expect(() => read(options)).toThrow(expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }));
  });

  it("a table without an option does not compile", () => {
    // @ts-expect-error onStep is missing
    readOptions<Options, { size: typeof TABLE.size; every: typeof TABLE.every }>("make", { size: 1 }, TABLE);
  });
});
