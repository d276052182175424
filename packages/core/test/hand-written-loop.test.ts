// The training loop written out from the public pieces, as in NNabla's tutorial on mixed precision, with the same bits
// as `trainer`. It is one graph, so what the scaler decides never waits for the host.

import { add, allFinite, literal, matMul, mul, reciprocal, reduceMean, relu, sub } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { expect, it } from "vitest";
import { prepareGraph, type StateBinding, traceInto } from "../src/entries/graph.js";
import {
  adam,
  autocast,
  dynamicLossScale,
  f32Master,
  foldIn,
  type HostTensor,
  isHostTensor,
  key,
  leavesOf,
  mapTensors,
  mixedFloat16,
  rebuildTree,
  type Tensor,
  type Traced,
  tensor,
  trainer,
  valueAndGrad,
} from "../src/index.js";

const wave = (shape: readonly number[], step: number): HostTensor<"f32"> => {
  const size = shape.reduce((product, dimension) => product * dimension, 1);
  return tensor(
    Float32Array.from({ length: size }, (_, i) => Math.sin(step * (i + 1))),
    shape,
  );
};
const params = { hidden: wave([3, 8], 0.7), out: wave([8, 1], 1.3) };
type Params = Traced<typeof params>;
type Batch = { x: Tensor; y: Tensor };
const loss = ({ hidden, out }: Params, { x, y }: Batch): Tensor => {
  const error = sub(matMul(relu(matMul(x, hidden)), out), y);
  return reduceMean(mul(error, error));
};
const batch = (step: number) => ({ x: wave([4, 3], 0.3 + step), y: wave([4, 1], 0.9 + step) });
const optimizer = adam({ learningRate: 0.01 });
// Starts beyond f16, so that the first steps overflow; grows again after three good ones.
const lossScaler = dynamicLossScale({ initialScale: 2 ** 22, growthInterval: 3 });
const STEPS = 16;

/** Traces a loop written by hand: trees of data in by name, a tree of results out by path. */
function graphOf(trees: Readonly<Record<string, unknown>>, body: (inputs: never) => unknown) {
  const leaves = leavesOf(trees, isHostTensor, "inputs");
  const inputs = leaves.map(([name, type]) => ({ name, role: "state" as const, type }));
  const traced = traceInto(inputs, (tensors) => body(rebuildTree(trees, isHostTensor, tensors) as never));
  return prepareGraph(traced.graph);
}

const flat = (trees: Readonly<Record<string, unknown>>): Readonly<Record<string, HostTensor>> =>
  Object.fromEntries(leavesOf(trees, isHostTensor, "inputs"));

async function byHand() {
  const backend = await reference();
  const masters = f32Master();
  const start = graphOf({ params }, ({ params: weights }: { params: Params }) => ({
    master: masters.init(weights),
    optimizer: optimizer.init(weights),
    scaler: lossScaler.init(),
    step: literal(0, "i32"),
  }));
  const state = await backend.createState(await (await backend.compile(start)).run(flat({ params })));

  interface State {
    readonly master: Params;
    readonly optimizer: ReturnType<typeof optimizer.init>;
    readonly scaler: ReturnType<typeof lossScaler.init>;
    readonly step: Tensor;
  }
  const step = ({ state: now, batch: data }: { state: State; batch: Batch }) => {
    const half = autocast(loss, mixedFloat16().policy, { manifest: backend.manifest });
    const scale = lossScaler.scale(now.scaler);
    const { value, gradients: scaled } = valueAndGrad(half, { seed: scale })(now.master, data);
    const applied = allFinite({ value, scaled });
    const gradients = mapTensors((g) => mul(g, reciprocal(scale)), scaled);
    const { updates, state: next } = optimizer.update(gradients, now.optimizer, now.master, {
      step: now.step,
    });
    const master = masters.apply(now.master, updates, foldIn(key(0), "master"));
    const scaler = lossScaler.update(now.scaler, applied);
    return { loss: value, applied, scale, next: { master, optimizer: next, scaler, step: add(now.step, 1) } };
  };
  const slots = await state.read();
  const graph = graphOf({ state: treeOf(slots), batch: batch(0) }, step);
  const bindings = Object.keys(slots).map(
    (slot): StateBinding => ({
      slot,
      input: `state/${slot}`,
      output: `next/${slot}`,
      commit: slot.startsWith("scaler") ? "always" : "when-applied",
    }),
  );
  const executable = await backend.compile(graph, { state, bindings, applied: "applied" });

  const results: unknown[] = [];
  for (let i = 0; i < STEPS; i++) {
    const { loss: value, applied, scale } = await executable.run(flat({ batch: batch(i) }));
    results.push({ loss: value?.data[0], applied: applied?.data[0] === 1, scale: scale?.data[0] });
  }
  const { "master/hidden": hidden, "master/out": out } = await state.read();
  await backend.dispose();
  return { results, parameters: { hidden, out } };
}

/** Slots named by path, as the tree they came from. */
function treeOf(slots: Readonly<Record<string, HostTensor>>): unknown {
  const tree: Record<string, unknown> = {};
  for (const [path, leaf] of Object.entries(slots)) {
    const keys = path.split("/");
    const last = keys.pop() as string;
    let at = tree;
    for (const name of keys) {
      at[name] ??= {};
      at = at[name] as Record<string, unknown>;
    }
    at[last] = leaf;
  }
  return tree;
}

async function byTrainer() {
  await using training = await trainer({
    backend: await reference(),
    params,
    loss,
    optimizer,
    precision: { ...mixedFloat16(), lossScaler },
    onWarning: () => undefined,
  });
  const results: unknown[] = [];
  for (let i = 0; i < STEPS; i++) {
    const { loss: value, applied, scale } = await training.step(batch(i));
    results.push({ loss: value, applied, scale });
  }
  return { results, parameters: await training.parameters() };
}

it("a loop by hand and the trainer agree bit for bit, overflows and growth included", async () => {
  const hand = await byHand();
  expect(hand).toEqual(await byTrainer());
  const steps = hand.results as { applied: boolean; scale: number }[];
  expect(steps[0]).toMatchObject({ applied: false, scale: 2 ** 22 });
  expect(steps.at(-1)?.applied).toBe(true);
  const scales = steps.map(({ scale }) => scale);
  expect(scales.some((scale, i) => scale > (scales[i - 1] ?? Number.POSITIVE_INFINITY))).toBe(true);
});
