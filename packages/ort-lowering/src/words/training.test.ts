import {
  type Backend,
  dynamicLossScale,
  type HostTensor,
  key,
  mixedFloat16,
  type Tensor,
  tensor,
  trainer,
} from "@mp/core";
import { defineBackend } from "@mp/core/backend";
import { cast, matMul, mul, randomBernoulli, reduceMean, sub, tanh } from "@mp/core/ops";
import { adam } from "@mp/core/optim";
import { evaluate, reference } from "@mp/core/reference";
import { expect, it } from "vitest";
import { relabeled, relabeledAs } from "./packed.js";
import { splitWords } from "./split-words.js";

/** The reference on rewritten graphs; values are relabeled where they enter and leave a run. */
async function inWords(): Promise<Backend> {
  const { manifest } = await reference();
  return defineBackend<HostTensor, never>({
    name: "words",
    manifest: { ...manifest, profile: { unsupported: "not here" }, memory: { unsupported: "not here" } },
    upload: ({ data, ...type }) => ({ ...type, data: data.slice() }) as HostTensor,
    download: ({ data, ...type }) => ({ ...type, data: data.slice() }) as HostTensor,
    compile: (graph) => {
      const split = splitWords(graph);
      return {
        run: (inputs) => {
          const given = Object.entries(inputs).map(([name, value]) => [name, relabeled(value)]);
          const results = evaluate(split, Object.fromEntries(given));
          return Object.fromEntries(
            graph.outputs.map(({ name, value }) => [name, relabeledAs(results[name] as HostTensor, value)]),
          );
        },
      };
    },
  });
}

const wave = (shape: readonly number[], step: number): HostTensor =>
  tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, index) =>
      Math.sin(step * (index + 1)),
    ),
    shape,
  );

/** Masks drawn for each microbatch, a loss scale that grows and falls, and Adam: all counters of a step at work. */
async function trained(backend: Backend) {
  const stream = key(5);
  const run = await trainer({
    backend,
    params: { w: wave([6, 8], 0.7), v: wave([8, 2], 0.3) },
    loss: ({ w, v }, { x, y }: { readonly x: Tensor; readonly y: Tensor }) => {
      const mask = cast(randomBernoulli(stream, 0.8, [4, 8]), "f32");
      const hidden = mul(tanh(matMul(x, w)), mask);
      const error = sub(matMul(hidden, v), y);
      return reduceMean(mul(error, error));
    },
    optimizer: adam({ learningRate: 0.01 }),
    precision: {
      ...mixedFloat16(),
      lossScaler: dynamicLossScale({ initialScale: 2 ** 20, growthInterval: 2 }),
    },
    accumulate: 2,
    onWarning: () => undefined,
  });
  const steps: { readonly applied: boolean }[] = [];
  for (let step = 0; step < 8; step++) {
    const batch = (seed: number) => ({ x: wave([4, 6], seed), y: wave([4, 2], seed + 1) });
    steps.push(await run.step(batch(step), batch(step + 0.5)));
  }
  const state = await run.saveBytes();
  await run.dispose();
  await backend.dispose();
  return { steps, state };
}

it("trains with the same bits", async () => {
  const wanted = await trained(await reference());
  // Both ways of the loss scale.
  expect(new Set(wanted.steps.map(({ applied }) => applied)).size).toBe(2);
  expect(await trained(await inWords())).toEqual(wanted);
});
