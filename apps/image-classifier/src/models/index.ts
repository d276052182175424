import type { Model } from "@mp/nn";
import { alexNet } from "./alexnet.js";
import type { ModelOptions } from "./parts.js";
import { cifarResNet, resNet50 } from "./resnet.js";
import { vgg } from "./vgg.js";

export const MODELS = ["resnet20", "resnet32", "resnet50", "vgg", "alexnet"] as const;
export type ModelName = (typeof MODELS)[number];

/** Every network that `--model` names. */
export const models: Readonly<Record<ModelName, (options: ModelOptions) => Model>> = {
  resnet20: (options) => cifarResNet(3, options),
  resnet32: (options) => cifarResNet(5, options),
  resnet50: resNet50,
  vgg,
  alexnet: alexNet,
};
