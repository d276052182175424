// Compares single operators that PyTorch exported, each after a trained layer, with PyTorch.
import { type Backend, float32, type HostTensor, ops, sgd, type Tensor, tensor, trainer } from "@mp/core";
import { encodeModel, exportOnnx, fromOnnx } from "@mp/onnx";
import { arrayOf, type SafetensorsTensor } from "@mp/safetensors";
import { loadFile } from "@mp/safetensors/file";
import { furthest, inSession } from "./plain-session.js";

/** An operator in the file that `peers/onnx_operators.py` writes. */
export interface ExportedOperator {
  readonly name: string;
  readonly model: Uint8Array;
  readonly input: HostTensor;
  readonly target: HostTensor;
  readonly output: HostTensor;
  /** Losses before each step of SGD, and after the last. */
  readonly losses: readonly number[];
  readonly learningRate: number;
}

export async function readExportedOperators(path: string): Promise<readonly ExportedOperator[]> {
  const { tensors, metadata } = await loadFile(path);
  const of = (key: string): SafetensorsTensor => {
    const found = tensors[key];
    if (found === undefined) throw new Error(`${path} has no ${key}`);
    return found;
  };
  const floats = (key: string): HostTensor => tensor(arrayOf(of(key), "F32"), of(key).shape);
  return Object.entries(metadata).map(([name, text]) => ({
    name,
    model: of(`${name}/model`).data,
    input: floats(`${name}/input`),
    target: floats(`${name}/target`),
    output: floats(`${name}/output`),
    ...(JSON.parse(text) as Pick<ExportedOperator, "losses" | "learningRate">),
  }));
}

/** The largest differences from PyTorch. */
export interface OperatorComparison {
  /** Difference of the output in evaluation mode. */
  readonly forward: number;
  /** Difference of the losses. */
  readonly losses: number;
  /**
   * Difference of the output after writing the file again with an open batch, at PyTorch's batch and at three times
   * its rows.
   */
  readonly written: number;
}

type Batch = { readonly x: Tensor; readonly target: Tensor };

export async function compareOperator(
  backend: Backend,
  { model: file, input, target, output, losses, learningRate }: ExportedOperator,
): Promise<OperatorComparison> {
  const model = await fromOnnx(file, { onWarning: () => undefined });
  await using training = await trainer({
    backend,
    params: model.init(),
    modelState: model.initState(),
    loss: (params, batch: Batch, context) => {
      const [y, modelState] = model.apply(params, batch.x, context);
      return { loss: ops.reduceMean(ops.square(ops.sub(y, batch.target))), modelState };
    },
    optimizer: sgd({ learningRate }),
    precision: float32(),
    onWarning: () => undefined,
  });
  const forward = await training.predict(
    (params, x: Tensor, context) => model.apply(params, x, context)[0],
    input,
  );
  const differences: number[] = [];
  for (const wanted of losses) {
    const { loss } = await training.step({ x: input, target });
    differences.push(Math.abs(loss - wanted));
  }
  const weights = { params: model.init(), state: model.initState() };
  const inputs = { x: { shape: [1, ...input.shape.slice(1)] } };
  const written = exportOnnx(model, weights, { inputs, dynamicAxes: { x: { 0: "batch" } } });
  return {
    forward: furthest(forward, output),
    losses: Math.max(...differences),
    written: await inSession(encodeModel(written), (session) =>
      session.difference({ x: input }, "y", output),
    ),
  };
}
