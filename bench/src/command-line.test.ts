import { describe, expect, it } from "vitest";
import { parseCommandLine, UsageError } from "./command-line.js";

const defaults = { python: "python3", results: "results" };
const parse = (line: string) => parseCommandLine(line.split(" ").filter(Boolean), defaults);

describe("parseCommandLine", () => {
  it("tells workloads from scenarios", () => {
    expect(parse("w1 memory w2 --against torch --precision mixed_bfloat16 --rounds 5")).toMatchObject({
      workloads: ["w1", "w2"],
      scenarios: ["memory"],
      against: ["torch"],
      precision: "mixed_bfloat16",
      rounds: 5,
      python: "python3",
    });
  });

  it("runs everything that can be run when nothing is named", () => {
    expect(parse("")).toMatchObject({
      workloads: ["w1", "w2"],
      rounds: 3,
      against: [],
      choice: { engine: "ort", device: "cpu" },
    });
    expect(parse("")?.scenarios).toContain("soak");
  });

  it("takes several peers", () => {
    expect(parse("w1 --backend tfjs --against torch,keras --threads 1")).toMatchObject({
      against: ["torch", "keras"],
      choice: { engine: "tfjs", threads: 1 },
    });
  });

  it("takes PyTorch in float16 where a GPU multiplies it", () => {
    expect(parse("w2-1536 --against torch --precision mixed_float16 --device cuda")).toMatchObject({
      workloads: ["w2-1536"],
      precision: "mixed_float16",
      choice: { device: "cuda" },
    });
  });

  it("gives help", () => {
    expect(parse("w1 --help")).toBeUndefined();
  });

  it.each([
    ["w9", /w9: expected w1, w2/],
    ["--fast", /--fast/],
    ["w1 --rounds 0", /--rounds 0: expected an integer/],
    ["w1 --seconds x", /--seconds x: expected a number/],
    ["w1 --against jax", /--against jax: expected torch, keras/],
    ["w1 --backend wasm", /--backend wasm: expected ort, tfjs/],
    ["w1 --precision f16", /--precision f16: expected float32/],
    ["w1 --against torch --precision mixed_float16", /bfloat16 only/],
    ["w1 --against keras --device cuda", /on the CPU only/],
  ])("refuses %s", (line, message) => {
    expect(() => parse(line)).toThrow(UsageError);
    expect(() => parse(line)).toThrow(message);
  });
});
