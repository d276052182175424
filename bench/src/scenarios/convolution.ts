import { type Shape, tensor } from "@mp/core";
import { type Executable, GraphBuilder, type OpAttributes, type Value } from "@mp/core/graph";
import { interleave } from "../timing.js";
import type { Scenario } from "./scenario.js";

/** C kernels of 3×3 over N images of C channels and H×H pixels, with a pad of 1. */
interface Sizes {
  readonly images: number;
  readonly channels: number;
  readonly pixels: number;
  /** Target: largest ratio of the weight gradient's time to the forward pass's. */
  readonly bar: number;
}

/** Two shapes of medium size, and those of ResNet-20. */
const SHAPES: Readonly<Record<string, Sizes>> = {
  "32×64×32²": { images: 32, channels: 64, pixels: 32, bar: 2.2 },
  "32×128×16²": { images: 32, channels: 128, pixels: 16, bar: 2.2 },
  "64×16×32²": { images: 64, channels: 16, pixels: 32, bar: 3.5 },
  "64×32×16²": { images: 64, channels: 32, pixels: 16, bar: 3.5 },
  "64×64×8²": { images: 64, channels: 64, pixels: 8, bar: 3.5 },
};

const WINDOW: OpAttributes["Conv"] = {
  strides: [1, 1],
  pads: [1, 1, 1, 1],
  dilations: [1, 1],
  group: 1,
};

/** A graph of which only a corner of the result is fetched from the engine. */
function cornerGraph(
  types: Readonly<Record<string, Shape>>,
  emit: (builder: GraphBuilder, operands: readonly Value[]) => Value,
): ReturnType<GraphBuilder["finish"]> {
  const builder = new GraphBuilder();
  const operands = Object.entries(types).map(([name, shape]) =>
    builder.input(name, { dtype: "f32", shape }, "batch"),
  );
  const result = emit(builder, operands);
  const axes = result.shape.map((_, axis) => axis);
  const corner = { axes, starts: axes.map(() => 0), ends: axes.map(() => 1), steps: axes.map(() => 1) };
  return builder.finish({ corner: builder.emitOne("Slice", [result], corner) });
}

/** Times a convolution and its two gradients in f32, each as a separate graph, in turn in one process. */
export const convolution: Scenario = {
  title: "convolution by 3×3, its input gradient and its weight gradient in float32",
  parts: Object.keys(SHAPES),
  run: async ({ backend, part, quick }) => {
    const { images, channels, pixels } = SHAPES[part] as Sizes;
    const image = [images, channels, pixels, pixels];
    const weights = [channels, channels, 3, 3];
    const graphs = {
      forward: cornerGraph({ image, weights }, (builder, operands) =>
        builder.emitOne("Conv", operands, WINDOW),
      ),
      input: cornerGraph({ image, weights }, (builder, operands) =>
        builder.emitOne("ConvTranspose", operands, { ...WINDOW, outputPadding: [0, 0] }),
      ),
      weights: cornerGraph({ image, gradient: image }, (builder, operands) =>
        builder.emitOne("ConvWeightGradient", operands, { ...WINDOW, kernelShape: [3, 3] }),
      ),
    };
    const data = (shape: Shape) => {
      const length = shape.reduce((product, size) => product * size, 1);
      return tensor(
        Float32Array.from({ length }, (_, at) => Math.sin(at)),
        shape,
      );
    };
    const feeds = {
      image: await backend.upload(data(image)),
      weights: await backend.upload(data(weights)),
      gradient: await backend.upload(data(image)),
    };
    const executables = await Promise.all(Object.values(graphs).map((graph) => backend.compile(graph)));
    const [forward, input, weight] = executables as [Executable, Executable, Executable];
    const counts = quick ? { warmup: 1, steps: 2 } : { warmup: 5, steps: 40 };
    const times = await interleave(
      {
        forward: () => forward.run({ image: feeds.image, weights: feeds.weights }),
        input: () => input.run({ image: feeds.image, weights: feeds.weights }),
        weights: () => weight.run({ image: feeds.image, gradient: feeds.gradient }),
      },
      counts,
    );
    for (const executable of executables) await executable.dispose();
    for (const handle of Object.values(feeds)) await handle.dispose();
    return times;
  },
  report: (measured) =>
    Object.entries(SHAPES).flatMap(([part, { bar }]) => {
      const forward = measured(part, "forward");
      const [input, weights] = [measured(part, "input"), measured(part, "weights")];
      return [
        { name: `${part}: forward`, value: forward, unit: "ms" },
        { name: `${part}: gradient for the input, in forwards`, value: input / forward, unit: "×" },
        { name: `${part}: gradient for the weights, in forwards`, value: weights / forward, unit: "×", bar },
      ];
    }),
};
