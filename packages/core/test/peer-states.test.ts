/** Moments in few bits against bitsandbytes and optax, after the gradients of bench/peers/optimizer_states.py. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type HostTensor, type Tensor, type TensorTree, tensor } from "@mp/graph";
import { add } from "@mp/graph/ops";
import { beforeAll, describe, expect, it } from "vitest";
import { traceTrees } from "../../graph/test/run-traced.js";
import { adamW } from "../src/optim/adam.js";
import type { Optimizer } from "../src/optim/optimizer.js";
import { scaleByAdam } from "../src/optim/scale-by-adam.js";
import type { StateFormat } from "../src/optim/states/state-format.js";

interface Packed {
  readonly sha256: string;
  readonly base64: string;
}
type Kept = "mean" | "square" | "mean.absmax" | "square.max" | "weights";

const fixture = JSON.parse(
  readFileSync(new URL("./fixtures/optimizer-states.json", import.meta.url), "utf8"),
) as {
  readonly u8: Readonly<Record<string, Readonly<Record<Kept, Packed>>>>;
  readonly bf16: Readonly<Record<string, Packed>>;
};

const COUNT = 60 * 70;
const STEPS = 200;

const bytesOf = ({ base64, sha256 }: Packed): Uint8Array<ArrayBuffer> => {
  const bytes = Uint8Array.from(Buffer.from(base64, "base64"));
  expect(createHash("sha256").update(bytes).digest("hex")).toBe(sha256);
  return bytes;
};

/** murmur3's finalizer over index · golden ratio + seed · k, as bench/peers/peer.py has it. */
function hashes(seed: number, count: number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, index) => {
    let value = (Math.imul(index, 0x9e3779b1) + Math.imul(seed, 0x85ebca77)) >>> 0;
    value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
    value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
    return (value ^ (value >>> 16)) >>> 0;
  });
}

const magnitudes = hashes(999, COUNT);

function gradient(step: number): HostTensor<"f32"> {
  const parts = [0, 1, 2, 3].map((part) => hashes(4 * step + part, COUNT));
  const data = Float32Array.from({ length: COUNT }, (_, index) => {
    const sum = parts.reduce((total, part) => total + ((part[index] as number) >>> 16), 0);
    return (sum - 131070) * 2 ** -17 * 2 ** -((magnitudes[index] as number) % 9);
  });
  return tensor(data, [60, 70]);
}

const start = (): HostTensor<"f32"> =>
  tensor(
    Float32Array.from(hashes(7, COUNT), (hash) => 2 * (hash >>> 8) * 2 ** -24 - 1),
    [60, 70],
  );

type State = { readonly weights: HostTensor; readonly state: Readonly<Record<string, HostTensor>> };

/** Weights and state after the steps that the fixture has. */
function trajectory(optimizer: Pick<Optimizer, "init" | "update">): ReadonlyMap<number, State> {
  const init = traceTrees(start(), (weights) => optimizer.init(weights));
  let [weights, state] = [start() as HostTensor, init(start()) as State["state"]];
  const example = { gradient: gradient(1), weights, state, step: tensor(Int32Array.of(0), []) };
  const update = traceTrees(example as never, (given) => {
    const { gradient, weights, state, step } = given as Readonly<Record<string, TensorTree>>;
    const { updates, state: next } = optimizer.update(
      gradient as Tensor,
      state as TensorTree,
      weights as Tensor,
      {
        step: step as Tensor,
      },
    );
    return { weights: add(weights as Tensor, updates as Tensor), state: next };
  });
  const kept = new Map<number, State>();
  for (let step = 1; step <= STEPS; step++) {
    const given = { gradient: gradient(step), weights, state, step: tensor(Int32Array.of(step - 1), []) };
    ({ weights, state } = update(given as never) as unknown as State);
    kept.set(step, { weights, state });
  }
  return kept;
}

describe("AdamW with states u8, of 4 200 weights", () => {
  let kept: ReadonlyMap<number, State>;
  beforeAll(() => {
    kept = trajectory(adamW({ learningRate: 0.01, states: "u8" }));
  });

  it.each(Object.entries(fixture.u8))("has bitsandbytes' codes and weights after step %s", (step, wanted) => {
    const { weights, state } = kept.get(Number(step)) as State;
    for (const slot of ["mean", "square"] as const) {
      const [got, want] = [(state[slot] as HostTensor<"u8">).data, bytesOf(wanted[slot])];
      const apart = Array.from(want, (code, index) => Math.abs(code - (got[index] as number)));
      expect(Math.max(...apart), slot).toBeLessThanOrEqual(1);
      expect(apart.filter((codes) => codes > 0).length, slot).toBeLessThanOrEqual(0.001 * COUNT);
    }
    const want = new Float32Array(bytesOf(wanted.weights).buffer);
    const far = Array.from(want, (weight, index) =>
      Math.abs(weight - ((weights.data as Float32Array)[index] as number)),
    );
    // A value in the middle of two numbers is rounded to either, and the weight then differs from there on.
    expect(far.filter((distance) => distance > 1e-5).length).toBeLessThanOrEqual(0.001 * COUNT);
  });
});

describe("a first moment in bf16", () => {
  const optimizer = (states: { readonly mean: StateFormat }) => scaleByAdam({ beta1: 0.875, states });
  let kept: ReadonlyMap<number, State>;
  beforeAll(() => {
    kept = trajectory(optimizer({ mean: "bf16" }));
  });

  it.each(Object.entries(fixture.bf16))("has optax's bits after step %s", (step, wanted) => {
    const want = new Uint16Array(bytesOf(wanted).buffer);
    expect((kept.get(Number(step)) as State).state["mean"]).toEqual({
      dtype: "bf16",
      shape: [60, 70],
      data: want,
    });
  });
});
