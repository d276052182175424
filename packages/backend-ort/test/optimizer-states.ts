/** Optimizer state in few bits on an engine: stored in as few bytes, and with the codes of the oracle. */
import { adamW, float32, type PrecisionReport, trainer } from "@mp/core";
import { type Backend, type HostTensor, tensor } from "@mp/graph";
import { matMul, mul, reduceMean, sub, tanh } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { expect, it } from "vitest";

const wave = (shape: readonly number[], step: number): HostTensor<"f32"> => {
  const size = shape.reduce((product, each) => product * each, 1);
  return tensor(
    Float32Array.from({ length: size }, (_, index) => Math.sin(step * (index + 1))),
    shape,
  );
};

const FORMATS = ["bf16", "f16", "f8e4m3", "u8"] as const;

interface Moments {
  /** By slot. */
  readonly values: ReadonlyMap<string, readonly number[]>;
  readonly losses: readonly number[];
  readonly report: PrecisionReport["optimizer"]["tensors"];
}

/** The moments after three steps, loaded by a run that keeps them in f32. */
async function momentsOn(backend: Backend, states: (typeof FORMATS)[number]): Promise<Moments> {
  const run = async (format: typeof states | "f32", on: Backend) =>
    trainer({
      backend: on,
      params: { a: wave([60, 70], 0.7), b: wave([70, 64], 1.3) },
      loss: ({ a, b }, { x }: { readonly x: never }) => {
        const error = sub(matMul(tanh(matMul(x, mul(a, 0.1))), b), 0.5);
        return reduceMean(mul(error, error));
      },
      optimizer: adamW({ learningRate: 0.001, states: format }),
      precision: float32(),
      onWarning: () => undefined,
    });
  const training = await run(states, backend);
  const losses: number[] = [];
  for (let step = 0; step < 3; step++) {
    losses.push((await training.step({ x: wave([8, 60], 0.37 + step) as never })).loss);
  }
  const { optimizer } = await training.precisionReport({ x: wave([8, 60], 0.37) as never });
  const exact = await run("f32", await reference());
  await exact.loadBytes(await training.saveBytes());
  const bytes = await exact.saveBytes();
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length))) as Record<
    string,
    { readonly data_offsets?: readonly [number, number] }
  >;
  const values = Object.entries(header).flatMap(([slot, { data_offsets: at }]) =>
    at !== undefined && slot.startsWith("optimizer/")
      ? [[slot, [...new Float32Array(bytes.slice(8 + length + at[0], 8 + length + at[1]).buffer)]] as const]
      : [],
  );
  await backend.dispose();
  return { losses, values: new Map(values), report: optimizer.tensors };
}

/** Tests of an engine: AdamW's moments in every format. */
export const testOptimizerStates = (open: () => Promise<Backend>): void =>
  it.each(FORMATS)("AdamW with states %s is that of the oracle", async (states) => {
    const [got, want] = [await momentsOn(await open(), states), await momentsOn(await reference(), states)];
    for (const [at, loss] of want.losses.entries()) expect(got.losses[at]).toBeCloseTo(loss, 4);
    expect([...got.values.keys()]).toEqual([...want.values.keys()]);
    for (const [slot, values] of want.values) {
      const own = got.values.get(slot) as readonly number[];
      const far = values.filter(
        (value, at) => Math.abs((own[at] as number) - value) > 1e-3 * Math.abs(value),
      );
      expect(far.length, slot).toBeLessThanOrEqual(0.005 * values.length);
    }
    // The report counts on the engine what the checkpoint has, also codes and half dtypes that it emulates.
    expect(got.report).toHaveLength(4);
    for (const { slot, parameter, format, bytes, zero, histogram } of got.report) {
      const values = got.values.get(`optimizer/${slot}/${parameter}`) as readonly number[];
      expect([format, bytes]).toEqual([
        states,
        want.report.find((each) => each.slot === slot && each.parameter === parameter)?.bytes,
      ]);
      expect(zero).toBeCloseTo(values.filter((value) => value === 0).length / values.length, 6);
      const largest = Math.max(...values.map(Math.abs));
      expect(Math.abs(histogram.largest - largest)).toBeLessThanOrEqual(1e-6 * largest);
    }
  });
