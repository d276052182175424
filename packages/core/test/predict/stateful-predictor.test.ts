import type { Backend } from "@mp/graph";
import { add, div, mul } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import {
  float32,
  mixed,
  type PrecisionChoice,
  statefulPredictor,
  type Tensor,
  type TrainingWarning,
  tensor,
} from "../../src/index.js";

const start = async (given: {
  readonly backend: Backend;
  readonly precision: PrecisionChoice;
  readonly onWarning: (warning: TrainingWarning) => unknown;
}) =>
  statefulPredictor({
    model: ({ rate }, x: Tensor, { modelState: { count } }) => [
      div(mul(count, rate), x),
      { count: add(count, x) },
    ],
    params: { rate: tensor(Float32Array.of(2)) },
    modelState: { count: tensor(Float32Array.of(1)) },
    ...given,
  });

describe("a stateful predictor", () => {
  it("replaces its state unless a result is not finite, and says so", async () => {
    const backend = await reference();
    const running = await start({ backend, precision: float32(), onWarning: () => {} });
    const results: unknown[] = [];
    for (const x of [3, 0, 8]) {
      const { result, applied } = await running.predict(tensor(Float32Array.of(x)));
      results.push([result.data[0], applied]);
    }
    expect(results).toEqual(
      [
        [2 / 3, true],
        [Number.POSITIVE_INFINITY, false],
        [1, true],
      ].map(([value, applied]) => [Math.fround(Number(value)), applied]),
    );
    await running.dispose();
    await expect(running.predict(tensor(Float32Array.of(1)))).rejects.toThrow("statefulPredictor");
    expect(backend.stats()).toMatchObject({ live: 0 });
  });

  it("reports what its precision warns of, each once", async () => {
    const backend = await reference();
    const warned: string[] = [];
    const onWarning = ({ message }: TrainingWarning): unknown => warned.push(message);
    const first = { type: "performance", message: "first" } as const;
    const twice = { ...float32(), warnings: [first, { ...first, message: "second" }, first] };
    await (await start({ backend, precision: twice, onWarning })).dispose();
    expect(warned).toEqual(["first", "second"]);
    await (await start({ backend, precision: mixed(), onWarning })).dispose();
    expect(warned[2]).toMatch(/^mixed\(\): /);
  });

  it("leaves nothing on the engine if onWarning throws", async () => {
    const backend = await reference();
    const onWarning = (): never => {
      throw new Error("refused");
    };
    await expect(start({ backend, precision: mixed(), onWarning })).rejects.toThrow("refused");
    expect(backend.stats()).toMatchObject({ live: 0 });
  });
});
