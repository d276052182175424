/** Faults of trainings: each with the causes that a diagnosis may name, and whether its remedies must cure it. */
import {
  castingPolicy,
  float16,
  float32,
  mixedBfloat16,
  mixedFloat16,
  noLossScaling,
  noMasterWeights,
  ops,
  scope,
  sgd,
  staticLossScale,
  tensor,
} from "@mp/core";
import { stopGradient } from "@mp/core/ops";
import {
  dynamic,
  type Fault,
  pick,
  power,
  scaled,
  times,
  withData,
  within,
  withTensor,
} from "./failing-tasks.js";

const OVERFLOW = ["scale too high", "half too narrow"];

export const faults: readonly Fault[] = [
  {
    name: "initial scale too high",
    causes: ["scale too high"],
    isCured: true,
    make: (_, random) => {
      const initialScale = power(random, 30, 100);
      return {
        precision: dynamic({ initialScale, ...(random() < 0.5 ? { minScale: initialScale / 4 } : {}) }),
      };
    },
  },
  {
    name: "static scale too high",
    causes: ["scale too high"],
    isCured: true,
    make: (_, random) => ({ precision: scaled(staticLossScale(power(random, 26, 90))) }),
  },
  {
    name: "scale that grows at once",
    causes: ["scale too high"],
    isCured: true,
    make: (_, random) => ({
      precision: dynamic({
        initialScale: 2 ** 16,
        growthInterval: 1,
        growthFactor: power(random, 10, 30),
        maxScale: 2 ** 100,
        backoffFactor: 0.9,
      }),
    }),
  },
  {
    name: "scaler of its own that leaves its range",
    causes: ["scale out of range"],
    isCured: true,
    make: () => ({
      precision: scaled({
        name: "zero",
        init: () => ({}),
        scale: () => ops.literal(0),
        update: (state) => state,
      }),
    }),
  },
  {
    name: "loss times a large number",
    causes: OVERFLOW,
    isCured: true,
    make: (task, random) => ({ ...times(task, power(random, 18, 50)), precision: mixedFloat16() }),
  },
  {
    name: "loss times a small number",
    causes: ["underflow"],
    isCured: true,
    make: (task, random) => {
      const factor = power(random, -30, -24);
      return {
        ...times(task, task.isAdaptive ? Math.max(factor, 2 ** -26) : factor),
        precision: pick(random, [
          scaled(noLossScaling()),
          dynamic({ initialScale: 1 }),
          scaled(staticLossScale(4)),
        ]),
      };
    },
  },
  {
    name: "activations beyond the half, at the end",
    causes: OVERFLOW,
    isCured: true,
    make: (task, random) => ({ forward: within(task, power(random, 18, 24)), precision: mixedFloat16() }),
  },
  {
    name: "activations beyond the half, raised",
    causes: OVERFLOW,
    isCured: true,
    make: (task, random) => ({ forward: within(task, power(random, 10, 14), 2), precision: mixedFloat16() }),
  },
  {
    name: "data beyond the half",
    causes: OVERFLOW,
    isCured: true,
    make: (task, random) => {
      const factor = power(random, 17, 30);
      const data = (task.batch.x.data as Float32Array).map((x) => x * factor);
      return {
        batch: { ...task.batch, x: tensor(data, task.batch.x.shape) },
        forward: (weights, x, context) =>
          task.forward(weights, ops.mul(ops.relu(ops.cast(x, "f32")), 1 / factor), context),
        precision: {
          ...mixedFloat16(),
          policy: castingPolicy({ compute: "f16", ops: { Relu: "low", Mul: "low" } }),
        },
      };
    },
  },
  {
    name: "one layer with large weights",
    causes: OVERFLOW,
    isCured: true,
    make: (task, random) => {
      const factor = power(random, 17, 22);
      return {
        params: withTensor(task.params, random, factor),
        forward: (weights, x, context) => ops.mul(task.forward(weights, x, context), 1 / factor),
        optimizer: () => task.optimizer(task.isAdaptive ? task.rate : task.rate / 16),
        precision: mixedFloat16(),
      };
    },
  },
  {
    name: "everything in float16, activations beyond it",
    causes: OVERFLOW,
    isCured: true,
    make: (task, random) => ({ forward: within(task, power(random, 18, 24)), precision: float16() }),
  },
  {
    name: "a sum as the loss",
    causes: OVERFLOW,
    isCured: true,
    make: (task, random) => ({
      ...times(task, power(random, 20, 24)),
      precision: scaled(staticLossScale(2 ** 16)),
    }),
  },
  {
    name: "epsilon that is 0 in the half",
    causes: OVERFLOW,
    isCured: true,
    make: (task) => ({
      forward: (weights, x, context) => {
        const y = task.forward(weights, x, context);
        const zero = ops.mul(ops.relu(ops.neg(ops.abs(y))), 1);
        return ops.add(y, ops.div(zero, ops.add(zero, 1e-8)));
      },
      precision: {
        ...mixedFloat16(),
        policy: castingPolicy({ compute: "f16", ops: { Add: "low", Div: "low", Mul: "low", Relu: "low" } }),
      },
    }),
  },
  {
    name: "logarithm of what is 0 in the half",
    causes: OVERFLOW,
    isCured: true,
    make: (task) => ({
      forward: (weights, x, context) => {
        const y = task.forward(weights, x, context);
        const tiny = ops.mul(ops.sigmoid(y), 1e-9);
        return ops.add(y, ops.mul(ops.log(tiny), 1e-2));
      },
      precision: {
        ...mixedFloat16(),
        policy: castingPolicy({ compute: "f16", ops: { Mul: "low", Sigmoid: "low", Log: "low" } }),
      },
    }),
  },
  {
    name: "gradients of very different sizes",
    causes: OVERFLOW,
    isCured: true,
    make: (task, random) => {
      const factor = power(random, 10, 14);
      return {
        // Its value is that of the model; its gradient is the factors' square too large on one way.
        forward: (weights, x, context) => {
          const y = task.forward(weights, x, context);
          const moved = ops.mul(ops.mul(ops.sub(y, stopGradient(y)), factor), factor);
          return ops.add(y, moved);
        },
        optimizer: () => task.optimizer(task.isAdaptive ? task.rate : task.rate / factor ** 2),
        precision: mixedFloat16(),
      };
    },
  },
  {
    name: "a scale that an overflow does not lower",
    causes: ["scale too high"],
    isCured: true,
    make: (_, random) => ({
      precision: dynamic({
        initialScale: power(random, 24, 40),
        ...pick(random, [{ hysteresis: 1000 }, { backoffFactor: 0.999 }]),
      }),
    }),
  },
  {
    name: "a loss in the half",
    causes: OVERFLOW,
    isCured: true,
    make: (task, random) => ({
      ...times(task, power(random, 17, 22)),
      precision: { ...mixedFloat16(), policy: castingPolicy({ compute: "f16", output: "f16" }) },
    }),
  },
  {
    name: "operators that the user lowered",
    causes: OVERFLOW,
    isCured: true,
    make: (task) => ({
      forward: (weights, x, context) => {
        const y = task.forward(weights, x, context);
        const large = scope("head", () => ops.exp(ops.add(ops.mul(ops.tanh(y), 2), 12)));
        return ops.add(y, ops.mul(ops.log(large), 1e-2));
      },
      precision: {
        ...mixedFloat16(),
        policy: castingPolicy({ compute: "f16", scopes: { head: { Exp: "low", Add: "low" } } }),
      },
    }),
  },
  {
    name: "no master weights",
    causes: ["lost updates"],
    isCured: true,
    make: (task, random) => {
      const half = pick(random, ["f16", "bf16"] as const);
      return {
        optimizer: () => task.optimizer(task.rate * 2 ** (half === "f16" ? -10 : -7)),
        precision: {
          ...(half === "f16" ? mixedFloat16() : mixedBfloat16()),
          masterWeights: noMasterWeights(half),
        },
      };
    },
  },
  {
    name: "NaN or infinity in the data",
    causes: ["data"],
    isCured: false,
    make: (task, random) => ({
      batch: withData(task.batch, random, pick(random, [Number.NaN, Number.POSITIVE_INFINITY])),
      precision: pick(random, [mixedFloat16(), mixedBfloat16(), float32(), float16()]),
    }),
  },
  {
    name: "absurd learning rate",
    causes: ["learning rate"],
    isCured: false,
    make: (task, random) => ({
      optimizer: () => task.optimizer(10 ** (3 + 6 * random()) * (task.isAdaptive ? 1 : 10)),
      precision: pick(random, [mixedFloat16(), mixedBfloat16(), float32()]),
    }),
  },
  {
    name: "learning rate that is NaN",
    causes: ["learning rate"],
    isCured: false,
    make: (task) => ({
      optimizer: () => sgd({ learningRate: (step) => ops.log(ops.sub(ops.cast(step, "f32"), 1)) }),
      precision: mixedFloat16(),
      params: task.params,
    }),
  },
  {
    name: "logarithm of 0",
    causes: ["model"],
    isCured: false,
    make: (task, random) => ({
      forward: (weights, x, context) => {
        const y = task.forward(weights, x, context);
        return ops.add(y, ops.log(ops.mul(ops.relu(ops.neg(ops.abs(y))), 1)));
      },
      precision: pick(random, [mixedFloat16(), float32(), mixedBfloat16()]),
    }),
  },
  {
    name: "gradient of a root at 0",
    causes: ["model"],
    isCured: false,
    make: (task, random) => ({
      forward: (weights, x, context) => {
        const y = task.forward(weights, x, context);
        return ops.add(y, ops.sqrt(ops.mul(y, 0)));
      },
      precision: pick(random, [mixedFloat16(), float32()]),
    }),
  },
  {
    name: "a row that is masked whole",
    causes: ["model"],
    isCured: false,
    make: (task, random) => ({
      forward: (weights, x, context) => {
        const y = task.forward(weights, x, context);
        const masked = ops.where(ops.greater(ops.abs(y), 1e30), y, Number.NEGATIVE_INFINITY);
        return ops.add(y, ops.softmax(masked));
      },
      precision: pick(random, [mixedFloat16(), float32()]),
    }),
  },
  {
    name: "dead units",
    causes: ["no gradient"],
    isCured: false,
    make: (task, random) => ({
      forward: (weights, x, context) => ops.relu(ops.sub(task.forward(weights, x, context), 1e3)),
      precision: pick(random, [mixedFloat16(), float32()]),
    }),
  },
];
