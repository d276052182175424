// One exported model read by `fromOnnx` and written again by `exportOnnx`: what plain onnxruntime-node makes of the file,
// and what is served of it.
import {
  type Backend,
  float32,
  type HostTensor,
  MpError,
  ops,
  predictor,
  sgd,
  type Tensor,
  tensor,
  trainer,
} from "@mp/core";
import {
  decodeModel,
  type ExportInput,
  encodeModel,
  exportOnnx,
  fromOnnx,
  type TrainableModel,
} from "@mp/onnx";
import * as engine from "onnxruntime-node";
import { median } from "../statistics.js";
import { furthest, repeated } from "./compare-model.js";
import type { ExportedModel } from "./exported.js";

/** The numbers of one file. */
export interface WrittenFile {
  readonly bytes: number;
  /** The largest difference from PyTorch's output, at its batch and at one of three times the rows. */
  readonly output: number;
}

export interface RoundTrip {
  readonly nodes: number;
  readonly f32: WrittenFile;
  /** A text where f16 is refused. */
  readonly f16: WrittenFile | string;
  /** The largest difference from PyTorch's output, of the f32 file read by `fromOnnx` again. */
  readonly again: number;
  /** Medians of runs of the f32 file in turns, by a plain session and by a predictor. */
  readonly sessionMs: number;
  readonly predictorMs: number;
  /** Peak bytes that the engine held for a predictor and for a trainer with `sgd`; undefined if it does not say. */
  readonly predictorBytes: number | undefined;
  readonly trainerBytes: number | undefined;
}

const RUNS = 60;
/** Before the runs that count: the first ones load code and fill caches. */
const WARM_UP = 5;

export async function roundTrip(backend: Backend, exported: ExportedModel): Promise<RoundTrip> {
  const model = await fromOnnx(exported.path);
  const f32 = written(model, exported, "f32");
  const again = await fromOnnx(f32);
  const serving = await serve(backend, again);
  const served = await serving.predict(exported.inputs);
  const plain = await runPlain(f32, exported, () => serving.predict(exported.inputs));
  const predictorBytes = await serving.peakBytes();
  await serving.dispose();
  return {
    nodes: decodeModel(f32).graph.nodes.length,
    f32: { bytes: f32.length, output: plain.output },
    f16: await inF16(model, exported),
    again: furthest(served["logits"] as HostTensor, exported.logits),
    sessionMs: plain.ms,
    predictorMs: plain.otherMs,
    predictorBytes,
    trainerBytes: await trained(backend, model, exported),
  };
}

/** With its first axis open, as PyTorch exported it. */
function written(
  model: TrainableModel,
  { inputs }: ExportedModel,
  dtype: "f32" | "f16",
): Uint8Array<ArrayBuffer> {
  const shapes = Object.entries(inputs).map(([name, { shape, dtype }]): [string, ExportInput] => [
    name,
    { shape: [1, ...shape.slice(1)], dtype: dtype as "f32" | "i64" },
  ]);
  const dynamicAxes = Object.fromEntries(shapes.map(([name]) => [name, { 0: "batch" }]));
  const weights = { params: model.init(), state: model.initState() };
  return encodeModel(
    exportOnnx(model, weights, { inputs: Object.fromEntries(shapes), dynamicAxes, dtype }),
  ) as Uint8Array<ArrayBuffer>;
}

async function inF16(model: TrainableModel, exported: ExportedModel): Promise<WrittenFile | string> {
  try {
    const bytes = written(model, exported, "f16");
    return { bytes: bytes.length, output: (await runPlain(bytes, exported)).output };
  } catch (error) {
    if (!MpError.is(error)) throw error;
    return error.code;
  }
}

async function runPlain(
  bytes: Uint8Array,
  { inputs, logits }: ExportedModel,
  other: () => Promise<unknown> = async () => {},
): Promise<{ readonly output: number; readonly ms: number; readonly otherMs: number }> {
  const session = await engine.InferenceSession.create(bytes, { intraOpNumThreads: 1 });
  try {
    const [once, thrice] = [1, 3].map((times) =>
      Object.fromEntries(Object.entries(inputs).map(([name, given]) => [name, fed(given, times)])),
    ) as [engine.InferenceSession.FeedsType, engine.InferenceSession.FeedsType];
    const at = async (feeds: engine.InferenceSession.FeedsType): Promise<HostTensor> => {
      const { logits: found } = await session.run(feeds);
      return tensor(found?.data as Float32Array, [...(found?.dims ?? [])]);
    };
    const output = Math.max(
      furthest(await at(once), logits),
      furthest(await at(thrice), repeated(logits, 3)),
    );
    const [ms = 0, otherMs = 0] = await medians(() => session.run(once), other);
    return { output, ms, otherMs };
  } finally {
    await session.release();
  }
}

function fed(given: HostTensor, times: number): engine.Tensor {
  const { dtype, shape, data } = repeated(given, times);
  return dtype === "i64"
    ? new engine.Tensor("int64", data as BigInt64Array, shape)
    : new engine.Tensor("float32", data as Float32Array, shape);
}

function serve(backend: Backend, model: TrainableModel) {
  return predictor({
    backend,
    model: (params, given: Readonly<Record<string, Tensor>>, context) =>
      model.apply(params, given, context)[0],
    params: model.init(),
    modelState: model.initState(),
    precision: float32(),
  });
}

async function trained(
  backend: Backend,
  model: TrainableModel,
  { inputs }: ExportedModel,
): Promise<number | undefined> {
  const training = await trainer({
    backend,
    params: model.init(),
    modelState: model.initState(),
    loss: (params, batch: Readonly<Record<string, Tensor>>, context) => {
      const [outputs, modelState] = model.apply(params, batch, context);
      return { loss: ops.reduceMean(ops.square(outputs["logits"] as Tensor)), modelState };
    },
    optimizer: sgd({ learningRate: 0 }),
    precision: float32(),
    onWarning: () => undefined,
  });
  await training.step(inputs);
  const bytes = await training.peakBytes();
  await training.dispose();
  return bytes;
}

/** Median times of functions that take turns, so that other load slows all of them alike. */
async function medians(...runs: readonly (() => Promise<unknown>)[]): Promise<readonly number[]> {
  const times = runs.map((): number[] => []);
  for (let turn = -WARM_UP; turn < RUNS; turn++) {
    for (const [at, run] of runs.entries()) {
      const began = performance.now();
      await run();
      if (turn >= 0) times[at]?.push(performance.now() - began);
    }
  }
  return times.map(median);
}
