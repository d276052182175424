// Ranks that train beside frozen parameters of other dtypes than f32, divided or not.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { adamW, float32, ops, trainer } from "@mp/core";
import { full, type HostTensor, type Ranks, tensor } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { expect, it } from "vitest";
import { inProcessRanks } from "../src/index.js";

const start = (
  value = 3,
): { readonly base: Readonly<Record<"low" | "codes", HostTensor>>; readonly w: HostTensor<"f32"> } => ({
  base: { low: full([2, 2], 0.5, "bf16"), codes: full([2, 2], value, "u8") },
  w: tensor(Float32Array.of(1, 2, 3, 4), [2, 2]),
});

const run = async (ranks: Ranks, shard: boolean, value?: number) =>
  trainer({
    backend: await reference(),
    params: start(value),
    frozen: { base: true },
    ranks,
    ...(shard ? { shard: "optimizer" } : {}),
    precision: float32(),
    optimizer: adamW({ learningRate: 0.1 }),
    loss: ({ base, w }, { x }) => {
      const { low, codes } = base as Record<"low" | "codes", never>;
      const weight = ops.mul(ops.cast(low, "f32"), ops.cast(codes, "f32"));
      return ops.reduceMean(ops.square(ops.matMul(x, ops.add(weight, w))));
    },
  });

it.each([false, true])("keep them, save them and resume; divided: %s", async (shard) => {
  const folder = await mkdtemp(join(tmpdir(), "mp-frozen-of-ranks-"));
  const path = join(folder, "run.safetensors");
  const runs = await Promise.all(inProcessRanks(2).map((ranks) => run(ranks, shard)));
  const batch = (rank: number) => ({ x: tensor(Float32Array.of(1, rank), [1, 2]) });
  const step = (of: typeof runs) => Promise.all(of.map((each, rank) => each.step(batch(rank))));
  await step(runs);
  await Promise.all(runs.map((each) => each.save(path)));
  const resumed = await Promise.all(inProcessRanks(2).map((ranks) => run(ranks, shard)));
  await Promise.all(resumed.map((each) => each.load(path)));
  expect(await step(resumed)).toEqual(await step(runs));
  const [first, ...others] = await Promise.all([...runs, ...resumed].map((each) => each.parameters()));
  expect(first?.base).toEqual(start().base);
  expect(first?.w).not.toEqual(start().w);
  for (const other of others) expect(other).toEqual(first);
  await rm(folder, { recursive: true });
});

it("refuse to begin with different ones", async () => {
  const [first, second] = inProcessRanks(2) as [Ranks, Ranks];
  const both = await Promise.allSettled([run(first, false), run(second, false, 4)]);
  for (const each of both)
    expect(each).toMatchObject({ status: "rejected", reason: { code: "MP_RANK_MISMATCH" } });
});
