import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type HostTensor, type Tensor, type TensorTree, tensor, zeros } from "@mp/graph";
import { add, literal } from "@mp/graph/ops";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { batch, params, type SmallOptions, smallRun } from "../../../test/small-run.js";
import { loadTensors, saveTensors } from "../../checkpoint/files.js";
import { adam } from "../../optim/adam.js";
import { f32Master, kahan, type MasterWeights, noMasterWeights } from "../../precision/master-weights.js";
import { mixedBfloat16 } from "../../precision/presets.js";
import { loadParameters } from "./load-parameters.js";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mp-load-parameters-"));
  path = join(folder, "run.safetensors");
});
afterEach(() => rmSync(folder, { recursive: true }));

async function saved(options: Partial<SmallOptions> = {}) {
  const training = await smallRun({ optimizer: adam({ learningRate: 0.1 }), seed: 7, ...options });
  await training.step(batch(0));
  await training.save(path);
  const trained = { params: await training.parameters(), modelState: await training.modelState() };
  await training.dispose();
  return trained;
}

describe("loadParameters", () => {
  it.each<[string, MasterWeights | undefined]>([
    ["f32", undefined],
    ["none", noMasterWeights("bf16")],
    ["kahan", kahan("bf16") as MasterWeights],
  ])("gives what the run had, kept as %s", async (_name, masterWeights) => {
    const precision = { ...mixedBfloat16(), masterWeights: masterWeights ?? f32Master() };
    const trained = await saved({ precision });
    const like = { params: params(), modelState: { mean: zeros([]), seen: zeros([], "i32") } };
    expect(await loadParameters(path, like)).toEqual(trained);
    expect(trained.params).not.toEqual(like.params);
  });

  it("finds the weights of custom master weights where they say", async () => {
    const inner = f32Master();
    const counting: MasterWeights = {
      name: "counting",
      weightsAt: "kept",
      init: (parameters) => ({ kept: inner.init(parameters), count: literal(0) }),
      parameters: (state) => inner.parameters((state as Readonly<Record<string, TensorTree>>)["kept"] ?? {}),
      apply: (state, updates, key) => {
        const { kept = {}, count } = state as Readonly<Record<string, TensorTree>>;
        return { kept: inner.apply(kept, updates, key), count: add(count as Tensor, 1) };
      },
    };
    const trained = await saved({ precision: { ...mixedBfloat16(), masterWeights: counting } });
    expect(await loadParameters(path, { params: params() })).toEqual({ params: trained.params });
  });

  it("finds those of a file that does not say where they are", async () => {
    const precision = { ...mixedBfloat16(), masterWeights: kahan("bf16") as MasterWeights };
    const trained = await saved({ precision });
    const { tensors, metadata } = await loadTensors(path);
    const { weightsAt, ...former } = metadata;
    expect(weightsAt).toBe("value");
    await saveTensors(path, tensors, former);
    expect(await loadParameters(path, { params: params() })).toEqual({ params: trained.params });
  });

  it("finds what was frozen, and takes a part of the tree", async () => {
    const trained = await saved({ frozen: { hidden: true } });
    const { hidden, out } = params();
    expect(await loadParameters(path, { params: { hidden, out } })).toEqual({ params: trained.params });
    expect(await loadParameters(path, { params: { out } })).toEqual({ params: { out: trained.params.out } });
  });

  it("is what a run of another optimizer is pointed to", async () => {
    await saved();
    const training = await smallRun({ seed: 7 });
    await expect(training.load(path)).rejects.toThrow(
      /does not fit: .*; loadParameters takes its parameters alone/,
    );
    await training.dispose();
  });

  it("refuses a parameter that is not finite", async () => {
    await saved();
    const { tensors, metadata } = await loadTensors(path);
    const { data, shape } = tensors["master/out"] as HostTensor<"f32">;
    const out = tensor(data.with(2, Number.NaN), shape);
    await saveTensors(path, { ...tensors, "master/out": out }, metadata);
    await expect(loadParameters(path, { params: params() })).rejects.toMatchObject({
      code: "MP_CHECKPOINT_MISMATCH",
      message: expect.stringContaining("params/out is NaN at element 2; such a run is damaged") as string,
    });
  });

  it("refuses a file that lacks something or has it in another shape", async () => {
    await saved();
    const like = { params: { ...params(), head: zeros([2]), out: zeros([4, 2]) } };
    await expect(loadParameters(path, like)).rejects.toThrow(
      /params\/head is missing; params\/out is f32\[4, 1\] instead of f32\[4, 2\]; nothing was loaded/,
    );
    await expect(loadParameters(path, { parms: {} } as never)).rejects.toThrow('has no option "parms"');
  });
});
