import * as ort from "onnxruntime-web/webgpu";
import { ortWeb } from "../../../src/index.js";
import { classifier, type PrecisionName, stepsOf, type Trained, train } from "../../train.js";

/** The `Worker` of a page. */
declare class Worker {
  onerror: (event: { readonly message: string }) => void;
  onmessage: (event: { readonly data: Trained }) => void;
  constructor(url: string, options: { readonly type: "module" });
  postMessage(message: PrecisionName): void;
  terminate(): void;
}

interface Saved {
  /** A checkpoint after some steps. */
  readonly bytes: readonly number[];
  /** Losses of the steps after that. */
  readonly losses: readonly number[];
}

declare global {
  var trainHere: (precision: PrecisionName) => Promise<Trained>;
  var trainInWorker: (precision: PrecisionName) => Promise<Trained>;
  var saveHere: (at: number, until: number) => Promise<Saved>;
  /** Runs `x` through a plain session of onnxruntime-web. */
  var runModel: (
    bytes: readonly number[],
    x: { readonly data: readonly number[]; readonly shape: readonly number[] },
  ) => Promise<readonly number[]>;
}

globalThis.trainHere = async (precision) => train(await ortWeb(), precision);

globalThis.trainInWorker = (precision) =>
  new Promise((resolve, reject) => {
    const worker = new Worker("worker.js", { type: "module" });
    worker.onerror = ({ message }) => reject(new Error(message));
    worker.onmessage = ({ data }) => {
      resolve(data);
      worker.terminate();
    };
    worker.postMessage(precision);
  });

globalThis.saveHere = async (at, until) => {
  const backend = await ortWeb();
  const training = await classifier(backend, "float32");
  await stepsOf(training, 0, at);
  const bytes = [...(await training.saveBytes())];
  const losses = await stepsOf(training, at, until);
  await training.dispose();
  await backend.dispose();
  return { bytes, losses };
};

globalThis.runModel = async (bytes, { data, shape }) => {
  const session = await ort.InferenceSession.create(Uint8Array.from(bytes), {
    executionProviders: ["webgpu"],
    logSeverityLevel: 3,
  });
  const { output } = await session.run({ x: new ort.Tensor("float32", Float32Array.from(data), shape) });
  const result = Array.from((await output?.getData()) as Float32Array);
  await session.release();
  return result;
};
