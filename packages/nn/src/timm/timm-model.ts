import { key, MpError } from "@mp/core";
import type { OutputAxis } from "@mp/core/optim";
import { checks, shown } from "@mp/graph/internal";
import { mismatch } from "../errors.js";
import { type FieldTable, type FieldValues, readFields } from "../fields/config-fields.js";
import { names } from "../fields/field-checks.js";
import type { ParameterTree } from "../layer.js";
import type { StatefulLayer } from "../stateful-layer.js";
import { drawSpecs, type Part } from "./part.js";
import { resnet, resnetArgs } from "./resnet.js";
import { visionTransformer, vitArgs } from "./vision-transformer.js";

/** Arguments with the names that they have in `timm.create_model`. */
export interface TimmArgs {
  /** Number of logits; 0 for a model without a last layer, which gives the pooled features. Default 1000. */
  readonly num_classes?: number;
  /** Unknown arguments to accept because they do not affect the result; default []. */
  readonly ignore?: readonly string[];
  readonly [name: string]: unknown;
}

/** Parameters or statistics by timm's names: `layer1/0/conv1/weight`. */
export type TimmWeights = { readonly [name: string]: ParameterTree };

/** A model of timm, with its names and layouts. The statistics are empty for a vision transformer. */
export interface TimmModel extends StatefulLayer<TimmWeights, TimmWeights> {
  /** The name in timm, without a tag: `resnet50`. */
  readonly architecture: string;
  /** The arguments that were given. */
  readonly args: FieldValues;
  /** The name of the last layer, which gives the logits. */
  readonly classifier: "fc" | "head";
  /** The output axis of a weight, for `muon`: 0. */
  readonly outputAxis: OutputAxis;
}

interface Architecture {
  readonly args: FieldTable;
  readonly classifier: TimmModel["classifier"];
  make(args: FieldValues): Part;
}

const ofResnet = (isBottleneck: boolean, ...layers: readonly number[]): Architecture => ({
  args: resnetArgs(layers),
  classifier: "fc",
  make: (args) => resnet(isBottleneck, args),
});

const ofVit = (size: number, heads: number, side: number): Architecture => ({
  args: vitArgs(size, heads, side),
  classifier: "head",
  make: visionTransformer,
});

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  resnet18: ofResnet(false, 2, 2, 2, 2),
  resnet34: ofResnet(false, 3, 4, 6, 3),
  resnet50: ofResnet(true, 3, 4, 6, 3),
  resnet101: ofResnet(true, 3, 4, 23, 3),
  resnet152: ofResnet(true, 3, 8, 36, 3),
  vit_tiny_patch16_224: ofVit(192, 3, 224),
  vit_tiny_patch16_384: ofVit(192, 3, 384),
  vit_small_patch16_224: ofVit(384, 6, 224),
  vit_small_patch16_384: ofVit(384, 6, 384),
  vit_base_patch16_224: ofVit(768, 12, 224),
  vit_base_patch16_384: ofVit(768, 12, 384),
};

/**
 * Makes a model of timm by its name, such as `resnet50` or `vit_small_patch16_224.augreg_in1k`, with new weights
 * that are drawn as timm draws them. `args` are those of `timm.create_model`: `{ num_classes: 10 }`. The model
 * maps images f32 [batch, in_chans, height, width] to logits [batch, num_classes].
 * @throws MP_UNSUPPORTED for another name, and for an argument whose effect is not implemented; MP_INVALID_ARGUMENT for
 *   values that do not fit together
 */
export function timmModel(name: string, args: TimmArgs = {}): TimmModel {
  return readTimm(name, args).model;
}

/** A model, with the descriptions of its parameters and statistics, which a file fills. */
export function readTimm(name: string, args: TimmArgs): { readonly model: TimmModel; readonly part: Part } {
  const [architecture = ""] = typeof name === "string" ? name.split(".") : [];
  const found = Object.hasOwn(ARCHITECTURES, architecture) ? ARCHITECTURES[architecture] : undefined;
  if (found === undefined)
    throw new MpError(
      "MP_UNSUPPORTED",
      `timmModel: the name must be one of ${Object.keys(ARCHITECTURES).join(", ")}, got ${shown(name)}; other models come in as ONNX, by fromOnnx`,
    );
  checks.object("timmModel: its second argument", args);
  const { ignore = [], ...given } = args;
  names("timmModel: ignore", ignore);
  const read = readFields("timmModel: args", given, found.args, ignore);
  const part = found.make(read);
  const channels = read["in_chans"] as number;
  const model: TimmModel = {
    name: "timmModel",
    architecture,
    args: given,
    classifier: found.classifier,
    outputAxis: (path) => (path.endsWith("weight") ? 0 : undefined),
    init: (from) => drawSpecs(part.parameters, from) as TimmWeights,
    initState: () => drawSpecs(part.statistics, key(0)) as TimmWeights,
    apply: (parameters, x, context) => {
      if (x?.shape?.length !== 4 || x.shape[1] !== channels)
        throw mismatch(
          `timmModel: images must be [batch, ${channels}, height, width], got ${x?.shape === undefined ? shown(x) : `[${x.shape.join(", ")}]`}`,
        );
      return part.apply(parameters, x, context) as ReturnType<TimmModel["apply"]>;
    },
  };
  return { model, part };
}
