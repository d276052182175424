import { describe, expect, expectTypeOf, it } from "vitest";
import { defineApp, type OptionsOf, parseCommandLine } from "./command-line.js";
import { choice, integer, number, text, toggle } from "./flag.js";

const definition = defineApp({
  name: "word-lm",
  description: "A word language model",
  defaults: { steps: 300, precision: "mixed_float16" },
  flags: {
    layers: integer({ default: 2, help: "LSTM layers" }),
    learningRate: number({ default: 1, help: "of SGD" }),
    dropout: number({ max: 0.9, help: "share of units dropped" }),
    cell: choice(["lstm", "gru"], { default: "lstm", help: "kind of cell" }),
    sweep: toggle({ help: "try sizes" }),
    table: text({ argument: "FILE", help: "operator table" }),
  },
});

function options(...argv: string[]): OptionsOf<typeof definition> {
  const parsed = parseCommandLine(definition, argv);
  if (parsed.kind !== "run") throw new Error(JSON.stringify(parsed));
  return parsed.options;
}

describe("parseCommandLine", () => {
  it("gives every flag its default", () => {
    expect(options()).toEqual({
      backend: "ort",
      device: "cpu",
      precision: "mixed_float16",
      lossScale: undefined,
      initialScale: undefined,
      masterWeights: "f32",
      onOverflow: "skip",
      accumulate: 1,
      checkpointing: false,
      steps: 300,
      seed: 42,
      data: undefined,
      compare: false,
      save: undefined,
      resume: undefined,
      json: undefined,
      layers: 2,
      learningRate: 1,
      dropout: undefined,
      cell: "lstm",
      sweep: false,
      table: undefined,
    });
  });

  it("reads common and own flags, in either spelling, the last one winning", () => {
    const read = options(
      ..."--precision bfloat16 --loss-scale dynamic --initial-scale 1073741824 --checkpointing".split(" "),
      ..."--learning-rate=0.5 --dropout 0 --sweep --cell gru --steps 5 --steps 1e3 --seed 0".split(" "),
    );
    expect(read).toMatchObject({
      precision: "bfloat16",
      lossScale: "dynamic",
      initialScale: 2 ** 30,
      checkpointing: true,
      learningRate: 0.5,
      dropout: 0,
      sweep: true,
      cell: "gru",
      steps: 1000,
      seed: 0,
    });
    expect(options("--loss-scale", "512").lossScale).toBe(512);
  });

  it("knows the options' types", () => {
    expectTypeOf<OptionsOf<typeof definition>["cell"]>().toEqualTypeOf<"lstm" | "gru">();
    expectTypeOf<OptionsOf<typeof definition>["dropout"]>().toEqualTypeOf<number | undefined>();
    expectTypeOf<OptionsOf<typeof definition>["layers"]>().toEqualTypeOf<number>();
    expectTypeOf<OptionsOf<typeof definition>["sweep"]>().toEqualTypeOf<boolean>();
  });

  it.each([
    ["--dropout 0.95", "expected a number from 0 to 0.9"],
    ["--dropout NaN", "expected a number from 0 to 0.9"],
    ["--learning-rate Infinity", "expected a number ≥ 0"],
    ["--learning-rate -1", "expected a number ≥ 0"],
    ["--layers 9007199254740993", "expected an integer ≥ 1"],
    ["--layers 0x", "expected an integer"],
    ["--cell rnn", "expected one of lstm, gru"],
    ["--table=", "--table <FILE>"],
    ["--seed -1", "expected an integer ≥ 0"],
    ["--initial-scale 0", "expected a number"],
    ["--no-sweep", "unknown option '--no-sweep'"],
    ["-x", "unknown option '-x'"],
  ])("refuses %s", (line, message) => {
    const parsed = parseCommandLine(definition, line.split(" "));
    expect(parsed).toMatchObject({ kind: "refused", message: expect.stringContaining(message) });
    expect(parsed.kind === "refused" && parsed.message.includes("\n")).toBe(false);
  });

  it("lists all flags with their defaults in the help", () => {
    const parsed = parseCommandLine(definition, ["-h"]);
    const help = parsed.kind === "help" ? parsed.text : "";
    expect(help).toMatch(/--steps <N> .*\(default: 300\)/s);
    for (const flag of ["--learning-rate <X>", "--sweep", "--table <FILE>", "--master-weights <NAME>"]) {
      expect(help).toContain(flag);
    }
  });
});
