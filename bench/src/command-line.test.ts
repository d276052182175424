import { availableParallelism } from "node:os";
import { describe, expect, it } from "vitest";
import { parseCommandLine, UsageError } from "./command-line.js";
import { displayName, type SizedWorkload } from "./workloads/workloads.js";

const defaults = { python: "python3", results: "results" };
const parse = (line: string) => parseCommandLine(line.split(" ").filter(Boolean), defaults);

describe("parseCommandLine", () => {
  it("tells workloads from scenarios", () => {
    expect(parse("w1 memory w2 --against torch --precision mixed_bfloat16 --rounds 5")).toMatchObject({
      workloads: [{ workload: "w1" }, { workload: "w2" }],
      scenarios: ["memory"],
      against: ["torch"],
      precision: "mixed_bfloat16",
      rounds: 5,
      python: "python3",
    });
  });

  it("runs everything that can be run when nothing is named", () => {
    expect(parse("")).toMatchObject({
      workloads: [{ workload: "w1" }, { workload: "w2" }],
      rounds: 3,
      against: [],
      choice: { engine: "ort", device: "cpu" },
    });
    expect(parse("")?.scenarios).toContain("memory");
  });

  it("takes several peers", () => {
    expect(parse("w1 --backend tfjs --against torch,keras --threads 1")).toMatchObject({
      against: ["torch", "keras"],
      choice: { engine: "tfjs", threads: 1 },
    });
  });

  it("takes PyTorch in float16 where a GPU multiplies it", () => {
    expect(parse("w2 --against torch,torch-compile --precision mixed_float16 --device cuda")).toMatchObject({
      against: ["torch", "torch-compile"],
      precision: "mixed_float16",
      choice: { device: "cuda" },
    });
  });

  it("takes sizes of a workload, and leaves the others as they are", () => {
    const [large] = parse("w2:cells=1024,batch=128")?.workloads ?? [];
    expect(large).toEqual({
      workload: "w2",
      sizes: { batch: 128, time: 35, vocabulary: 10_000, cells: 1024, layers: 2 },
    });
    expect(displayName(large as SizedWorkload)).toBe("w2:batch=128,cells=1024");
    expect(parse("w5:size=64 --largest-batch 4 --operators")).toMatchObject({
      workloads: [{ workload: "w5", sizes: { size: 64, blocks: [3, 4, 6, 3] } }],
      largestBatch: 4,
      operators: true,
    });
  });

  it("compiles for a GPU that is not here, and still times compilation", () => {
    expect(parse("compile --target h200 w1 w4:layers=2 --precision mixed_float16")).toMatchObject({
      target: "h200",
      workloads: [{ workload: "w1" }, { workload: "w4", sizes: { layers: 2 } }],
      scenarios: [],
      precision: "mixed_float16",
    });
    expect(parse("compile --target b200")?.workloads).toHaveLength(5);
    expect(parse("compile")).toMatchObject({ target: undefined, scenarios: ["compile"] });
    expect(() => parse("w1 --target h200")).toThrow(
      new UsageError("--target: expected compile and workloads, got w1"),
    );
    expect(() => parse("compile memory --target h200")).toThrow(UsageError);
    expect(() => parse("compile --target v100")).toThrow(/expected a100, h100/);
  });

  it("takes options for CUDA", () => {
    const flags = ["w5", "--device", "cuda", "--cuda", '{"tf32":true}'];
    expect(parseCommandLine(flags, defaults)?.choice).toMatchObject({
      device: "cuda",
      cuda: { tf32: true },
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
    ["w1 --against jax", /--against jax: expected torch, torch-compile, keras/],
    ["w2:cell=4", /w2:cell=4: its sizes are batch, time, vocabulary, cells, layers, got cell/],
    ["w2:cells=1.5", /w2:cells=1.5: cells must be an integer ≥ 1, got 1.5/],
    ["w5:blocks=3", /its sizes are batch, size, width, classes, got blocks/],
    ["w1 --device gpu", /--device gpu: expected one of cpu, cuda, webgpu/],
    ["w1 --device webgpu --against torch", /no peer runs on webgpu/],
    ["w1 --backend tfjs --device webgpu", /TensorFlow has no webgpu/],
    ["w1 --backend openvino --device cuda", /it has no device but cpu, got cuda/],
    [`w1 --backend xla --threads ${availableParallelism() + 1}`, /takes all cores/],
    ["w1 --cuda 1", /--cuda 1: expected a JSON object/],
    ["w1 --largest-batch 0", /--largest-batch 0: expected an integer/],
    ["w1 --backend wasm", /--backend wasm: expected one of ort, tfjs, openvino, xla/],
    ["w1 --precision f16", /--precision f16: expected one of float32/],
    ["w1 --against torch --precision mixed_float16", /bfloat16 only/],
    ["w1 --against keras --device cuda", /on the CPU only/],
  ])("refuses %s", (line, message) => {
    expect(() => parse(line)).toThrow(UsageError);
    expect(() => parse(line)).toThrow(message);
  });
});
