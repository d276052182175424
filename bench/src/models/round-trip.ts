// Reads an exported model by `fromOnnx`, writes it again by `exportOnnx`, and runs the file in plain onnxruntime-node and
// in a predictor.
import {
  type Backend,
  float32,
  type HostTensor,
  MpError,
  ops,
  predictor,
  sgd,
  type Tensor,
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
import { interleave } from "../timing.js";
import type { ExportedModel } from "./exported.js";
import { furthest, inSession } from "./plain-session.js";

/** Figures of one written file. */
export interface WrittenFile {
  readonly bytes: number;
  /** The largest difference from PyTorch's output, at the same batch and at three times its rows. */
  readonly output: number;
}

export interface RoundTrip {
  readonly nodes: number;
  readonly f32: WrittenFile;
  /** The file in f16, or text if f16 is refused. */
  readonly f16: WrittenFile | string;
  /** The largest difference from PyTorch's output, of the f32 file read by `fromOnnx` again. */
  readonly again: number;
  /** Median time of a run of the f32 file in a plain session; `predictorMs` is that of a predictor, run in turns. */
  readonly sessionMs: number;
  readonly predictorMs: number;
  /** Peak bytes that the engine held for a predictor, or a trainer with `sgd`; undefined if it does not report them. */
  readonly predictorBytes: number | undefined;
  readonly trainerBytes: number | undefined;
}

/** Runs to make; the first ones load code and fill caches. */
const COUNTS = { warmup: 5, steps: 60 };

export async function roundTrip(backend: Backend, exported: ExportedModel): Promise<RoundTrip> {
  const model = await fromOnnx(exported.path);
  const f32 = writeModel(model, exported, "f32");
  const again = await fromOnnx(f32);
  const serving = await serve(backend, again);
  const served = await serving.predict(exported.inputs);
  const { output, times } = await inSession(f32, async (session) => {
    const works = {
      session: () => session.run(exported.inputs),
      predictor: () => serving.predict(exported.inputs),
    };
    const difference = await session.difference(exported.inputs, "logits", exported.logits);
    return { output: difference, times: await interleave(works, COUNTS) };
  });
  const predictorBytes = await serving.peakBytes();
  await serving.dispose();
  return {
    nodes: decodeModel(f32).graph.nodes.length,
    f32: { bytes: f32.length, output },
    f16: await inF16(model, exported),
    again: furthest(served["logits"] as HostTensor, exported.logits),
    sessionMs: times.session,
    predictorMs: times.predictor,
    predictorBytes,
    trainerBytes: await peakOfTraining(backend, model, exported),
  };
}

/** Writes the model with its first axis open, as PyTorch exported it. */
function writeModel(
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
    const bytes = writeModel(model, exported, "f16");
    const { inputs, logits } = exported;
    const output = await inSession(bytes, (session) => session.difference(inputs, "logits", logits));
    return { bytes: bytes.length, output };
  } catch (error) {
    if (!MpError.is(error)) throw error;
    return error.code;
  }
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

async function peakOfTraining(
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
