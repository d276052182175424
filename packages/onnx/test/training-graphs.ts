import { adamW, type PrecisionChoice, trainer } from "@mp/core";
import { type Backend, type Graph, remat, scope, type Tensor, tensor } from "@mp/graph";
import {
  gather,
  layerNormalization,
  matMul,
  randomBernoulli,
  softmaxCrossEntropyLoss,
  tanh,
  where,
} from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";

/** The backend, and the graphs that it is given to compile. */
function recorded(backend: Backend): { readonly backend: Backend; readonly graphs: Graph[] } {
  const graphs: Graph[] = [];
  return {
    graphs,
    backend: {
      name: backend.name,
      specVersion: backend.specVersion,
      manifest: backend.manifest,
      compile: (graph, options) => {
        graphs.push(graph);
        return backend.compile(graph, options);
      },
      createState: (values) => backend.createState(values),
      upload: (value) => backend.upload(value),
      download: (handle) => backend.download(handle),
      stats: () => backend.stats(),
      dispose: () => backend.dispose(),
    },
  };
}

const wave = (...shape: number[]) =>
  tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, index) => Math.sin(index + 1) / 4),
    shape,
  );

const CLASSES = 5;
const WIDTH = 4;
const ROWS = 6;

/**
 * Every graph of a short run with an embedding, dropout, a normalized layer that is recomputed in the backward pass,
 * a loss on labels and AdamW.
 */
export async function trainingGraphs(precision: PrecisionChoice): Promise<readonly Graph[]> {
  const { backend, graphs } = recorded(await reference());
  const training = await trainer({
    backend,
    precision,
    optimizer: adamW({ learningRate: 1e-3 }),
    clipNorm: 1,
    onWarning: () => undefined,
    params: {
      embedding: wave(7, WIDTH),
      norm: { scale: wave(WIDTH), bias: wave(WIDTH) },
      w: wave(WIDTH, WIDTH),
      out: wave(WIDTH, CLASSES),
    },
    loss: (
      { embedding, norm, w, out },
      { tokens, labels }: { tokens: Tensor; labels: Tensor },
      { key, training },
    ) => {
      const x = scope("embedding", () => gather(embedding, tokens));
      const keep = randomBernoulli(key, 0.9, [ROWS, WIDTH]);
      const dropped = training ? where(keep, x, 0) : x;
      const layer = remat((input: Tensor) =>
        scope("layer", () => tanh(matMul(layerNormalization(input, norm.scale, norm.bias), w))),
      );
      return softmaxCrossEntropyLoss(matMul(layer(dropped), out), labels);
    },
  });
  const batch = {
    tokens: tensor(Int32Array.of(0, 1, 2, 3, -1, 6)),
    labels: tensor(Int32Array.of(0, 1, 2, 3, 4, 0)),
  };
  await training.step(batch);
  await training.evaluate(batch);
  await training.dispose();
  await backend.dispose();
  return graphs;
}
