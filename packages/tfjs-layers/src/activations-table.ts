// Activation functions of TensorFlow.js by their names in configs.
import type { Tensor } from "@mp/graph";
import {
  abs,
  add,
  clip,
  div,
  elu,
  gelu,
  logSoftmax,
  mul,
  relu,
  sigmoid,
  softmax,
  softplus,
  tanh,
} from "@mp/graph/ops";
import { isObject } from "./problem.js";
import type { Settings } from "./settings.js";

export type Activation = (x: Tensor) => Tensor;

const SELU = { scale: 1.0507009873554805, alpha: 1.6732632423543772 };

const swish: Activation = (x) => mul(x, sigmoid(x));

const ACTIVATIONS: Readonly<Record<string, Activation>> = {
  linear: (x) => x,
  relu,
  relu6: (x) => clip(x, { min: 0, max: 6 }),
  elu: (x) => elu(x),
  selu: (x) => mul(elu(x, SELU.alpha), SELU.scale),
  sigmoid,
  hard_sigmoid: (x) => clip(add(mul(x, 0.2), 0.5), { min: 0, max: 1 }),
  tanh,
  softplus,
  softsign: (x) => div(x, add(abs(x), 1)),
  softmax: (x) => softmax(x),
  log_softmax: (x) => logSoftmax(x),
  swish,
  silu: swish,
  mish: (x) => mul(x, tanh(softplus(x))),
  gelu: (x) => gelu(x),
  gelu_new: (x) => gelu(x, { approximate: "tanh" }),
};

/**
 * Reads an activation, which Keras 3 writes as an object and tfjs sometimes in camel case.
 * @throws MP_UNSUPPORTED for an unknown activation
 */
export function readActivation(settings: Settings, option: string, fallback: string): Activation {
  const given = settings.config[option] ?? fallback;
  const name = isObject(given) ? (given["config"] ?? given["class_name"]) : given;
  const key = typeof name === "string" ? name.replace(/(?<=[a-z])([A-Z])/g, "_$1").toLowerCase() : undefined;
  if (key !== undefined && Object.hasOwn(ACTIVATIONS, key)) return ACTIVATIONS[key] as Activation;
  return settings.refuse(`the activation ${JSON.stringify(name)?.slice(0, 80)} is not read`);
}
