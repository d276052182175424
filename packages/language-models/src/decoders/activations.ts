/** Activation functions by their names in config.json. */
import type { Tensor } from "@mp/core";
import { gelu, relu, silu } from "@mp/core/ops";
import { checks } from "@mp/graph/internal";

export type Activation = (x: Tensor) => Tensor;

const ACTIVATIONS: Readonly<Record<string, Activation>> = {
  silu,
  swish: silu,
  gelu: (x) => gelu(x, { approximate: "none" }),
  gelu_new: (x) => gelu(x, { approximate: "tanh" }),
  gelu_pytorch_tanh: (x) => gelu(x, { approximate: "tanh" }),
  relu,
};

export const activationName: checks.Check = checks.oneOf(...Object.keys(ACTIVATIONS));

/** @param name one that `activationName` accepts */
export const findActivation = (name: unknown): Activation => ACTIVATIONS[name as string] as Activation;
