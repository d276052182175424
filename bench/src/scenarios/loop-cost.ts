import { type Backend, type Tensor, tensor } from "@mp/core";
import { type Executable, type Graph, prepareGraph, traceInto } from "@mp/core/graph";
import { add, concat, matMul, reshape, scan, slice, tanh } from "@mp/core/ops";
import { interleave, time } from "../timing.js";
import type { Scenario } from "./scenario.js";

interface Sizes {
  readonly steps: number;
  readonly batch: number;
  readonly width: number;
}

const SIZES: Readonly<Record<string, Sizes>> = {
  "2000 steps of 1×8": { steps: 2000, batch: 1, width: 8 },
  "2000 steps of 32×64": { steps: 2000, batch: 32, width: 64 },
  "200 steps of 32×512": { steps: 200, batch: 32, width: 512 },
};

const step = (state: Tensor, element: Tensor, weights: Tensor): Tensor =>
  tanh(add(matMul(state, weights), element));

/** All states of a recurrence, as a loop or with its steps written out. */
function recurrenceGraph({ steps, batch, width }: Sizes, isLoop: boolean): Graph {
  const declare = (name: string, ...shape: number[]) => ({
    name,
    role: "batch" as const,
    type: { dtype: "f32" as const, shape },
  });
  const inputs = [
    declare("state", batch, width),
    declare("elements", steps, batch, width),
    declare("weights", width, width),
  ];
  const { graph } = traceInto(inputs, (given) => {
    const [start, elements, weights] = given as [Tensor, Tensor, Tensor];
    if (isLoop) {
      const one = (state: Tensor, element: Tensor) => {
        const next = step(state, element, weights);
        return [next, next] as const;
      };
      return { states: scan(one, start, elements)[1] };
    }
    let state = start;
    const states = Array.from({ length: steps }, (_, place) => {
      const element = slice(elements, [{ axis: 0, start: place, end: place + 1 }]);
      state = step(state, reshape(element, [batch, width]), weights);
      return reshape(state, [1, batch, width]);
    });
    return { states: concat(states) };
  });
  return prepareGraph(graph);
}

/** Compares a loop with its steps written out: the time of a step, and the time until the first run has ended. */
export const loopCost: Scenario = {
  title: "a loop beside its steps written out",
  parts: Object.keys(SIZES),
  run: async ({ backend, part, quick }) => {
    const sizes = SIZES[part] as Sizes;
    const used = quick ? { ...sizes, steps: 20 } : sizes;
    const { steps, batch, width } = used;
    const data = (...shape: readonly number[]) => {
      const length = shape.reduce((product, size) => product * size, 1);
      return tensor(
        Float32Array.from({ length }, (_, at) => Math.sin(at) / Math.sqrt(width)),
        shape,
      );
    };
    const feeds = {
      state: await backend.upload(data(batch, width)),
      elements: await backend.upload(data(steps, batch, width)),
      weights: await backend.upload(data(width, width)),
    };
    const first: number[] = [];
    const [loop, written] = [
      await time(first, () => compileAndRun(backend, recurrenceGraph(used, true), feeds)),
      await time(first, () => compileAndRun(backend, recurrenceGraph(used, false), feeds)),
    ];
    const [loopFirst = Number.NaN, writtenFirst = Number.NaN] = first;
    const counts = quick ? { warmup: 1, steps: 2 } : { warmup: 3, steps: 15 };
    const times = await interleave(
      { loop: () => loop.run(feeds), written: () => written.run(feeds) },
      counts,
    );
    await loop.dispose();
    await written.dispose();
    for (const handle of Object.values(feeds)) await handle.dispose();
    const microseconds = (each: number): number => (1000 * each) / steps;
    return {
      loop: microseconds(times.loop),
      written: microseconds(times.written),
      loopFirst,
      writtenFirst,
    };
  },
  report: (measured) =>
    loopCost.parts.flatMap((part) => {
      const bar = measured(part, "written");
      return [
        { name: `${part}: a step of the loop`, value: measured(part, "loop"), unit: "µs", bar },
        { name: `${part}: a step written out`, value: bar, unit: "µs" },
        { name: `${part}: the loop compiled and run once`, value: measured(part, "loopFirst"), unit: "ms" },
        {
          name: `${part}: the steps compiled and run once`,
          value: measured(part, "writtenFirst"),
          unit: "ms",
        },
      ];
    }),
};

async function compileAndRun(
  backend: Backend,
  graph: Graph,
  feeds: Parameters<Executable["run"]>[0],
): Promise<Executable> {
  const executable = await backend.compile(graph);
  await executable.run(feeds);
  return executable;
}
