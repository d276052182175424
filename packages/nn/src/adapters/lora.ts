import { foldIn, type HostTensor, type Key, type Tensor, type Tree, zeros } from "@mp/core";
import { checks, readOptions, withDefault, withNote } from "@mp/graph/internal";
import { positive, rate } from "../fields/field-checks.js";
import { uniform } from "../initializers.js";
import type { LayerContext, Parameters } from "../layer.js";
import { type AdaptableModel, expectAdaptable, type NamedParameters } from "./adaptable-model.js";
import { buildTree, joinTrees } from "./adapter-tree.js";
import type { LinearAdapter, LinearPart } from "./linear-part.js";
import type { LinearPlace } from "./linear-place.js";
import { inF32, mergeWeight, type Weight } from "./merge.js";
import { NOTHING_SAVED, replaceWeights, type SavedWeights } from "./saved-weights.js";
import { expectFound, selectLayers, type Targets } from "./targets.js";

export interface LoraOptions {
  /** The rank r of the matrices A and B; default 8. */
  readonly rank?: number;
  /** Scales the product of A and B by alpha / rank; default 8. */
  readonly alpha?: number;
  /**
   * The linear layers that get adapters, by the last parts of their paths, such as `["q_proj", "v_proj"]`; or
   * `all-linear` for all linear layers but the one that computes the logits. Default as in peft: `q_proj` and
   * `v_proj`, for GPT-2 `c_attn`; for a model of an ONNX file, `all-linear`.
   */
  readonly targets?: Targets;
  /** Dropout rate of the adapters' inputs in training; default 0. */
  readonly dropout?: number;
  /** Whether to scale by alpha / √rank instead (rsLoRA, arXiv 2312.03732); default false. */
  readonly useRslora?: boolean;
}

/** A frozen model with trainable adapters. */
export interface Lora<I, O = Tensor> {
  readonly settings: Required<LoraOptions>;
  /** The linear layers that have adapters. */
  readonly places: readonly LinearPlace[];
  /** The weights of the base that an adapter's file replaces; they lie among the adapters, which `init` makes without. */
  readonly saved: SavedWeights;
  /** The output axis of the matrices A and B, for `muon`. */
  readonly outputAxis: 0;
  /** Makes adapters that do not change the model yet: A is uniform in ±1 / √inputs, as in peft, B is zero. */
  init(key: Key): NamedParameters;
  /** Applies the model with the adapters. Neither tree of weights is changed. */
  apply(
    adapters: Parameters<NamedParameters>,
    base: Parameters<Tree<HostTensor>>,
    input: I,
    context?: LayerContext,
  ): O;
  /** Joins both trees into one that the model's own `apply` takes, for models with several inputs. */
  join(
    adapters: Parameters<NamedParameters>,
    base: Parameters<Tree<HostTensor>>,
  ): Parameters<NamedParameters>;
  /** Adds the adapters to the weights of the base, in f32, so that the model needs no adapters. */
  merge(adapters: NamedParameters, base: Tree<HostTensor>): NamedParameters;
}

const isTargets = (value: unknown): boolean =>
  value === "all-linear" || (Array.isArray(value) && value.every((name) => typeof name === "string"));

const OPTIONS = {
  rank: withDefault(8, checks.count),
  alpha: withDefault(8, positive),
  targets: checks.optional(checks.claim('a list of names or "all-linear"', isTargets)),
  dropout: withDefault(0, rate),
  useRslora: withDefault(false, checks.truth),
};

/**
 * LoRA (Hu et al., arXiv 2106.09685): each target layer computes x · Wᵀ + b + scale · (dropout(x) · Aᵀ) · Bᵀ,
 * and only A and B are trained.
 * @example
 * ```ts
 * const adapted = lora(model, { rank: 8, alpha: 16 });
 * const params = { base, adapters: adapted.init(key(0)) };
 * const loss = ({ base, adapters }, { ids }, context) =>
 *   nextTokenLoss(adapted.apply(adapters, base, { ids }, context), ids);
 * const training = await trainer({ backend, params, frozen: { base: true }, loss, optimizer });
 * ```
 * @throws MP_INVALID_ARGUMENT for a target that the model does not have; names the layers that it has
 */
export const lora = <I, O = Tensor>(model: AdaptableModel<I, O>, options: LoraOptions = {}): Lora<I, O> =>
  loraBeside(model, options, NOTHING_SAVED);

/** Notes for checkpoints the settings that change the product of adapters; a run that resumes with others warns. */
export const noteSettings = (
  { rank, alpha, dropout, useRslora }: Required<LoraOptions>,
  adapters: NamedParameters,
): NamedParameters =>
  withNote(adapters, `lora(alpha ${alpha} / ${useRslora ? "√" : ""}${rank}, dropout ${dropout})`);

/** Makes `lora` beside weights that an adapter's file replaces. @throws as `lora` */
export function loraBeside<I, O>(
  model: AdaptableModel<I, O>,
  options: LoraOptions,
  saved: SavedWeights,
): Lora<I, O> {
  expectAdaptable("lora", model);
  const read = readOptions("lora", options, OPTIONS, { example: "{ rank: 8, alpha: 16 }" });
  const settings = { ...read, targets: read.targets ?? model.targets };
  const { rank, alpha, targets, dropout, useRslora } = settings;
  expectFound(model.linearLayers, targets);
  const places = selectLayers(model.linearLayers, targets);
  const scale = alpha / (useRslora ? Math.sqrt(rank) : rank);
  const adapted = { settings, places, saved };
  const above = <T>(base: T, adapters: unknown): T =>
    replaceWeights(base as never, adapters as never, adapted, model.weights) as T;
  const join: Lora<I, O>["join"] = (adapters, base) =>
    joinTrees<LinearPart["weight"], Tensor>(
      above(base, adapters),
      adapters,
      adapted,
      ({ part, down, up }) => {
        const adapter: LinearAdapter = { down, up, scale, dropout };
        return { ...part, adapter };
      },
    ) as Parameters<NamedParameters>;
  return {
    ...adapted,
    outputAxis: 0,
    init: (key) =>
      noteSettings(
        settings,
        buildTree(places, ({ path, inputs, outputs }) => ({
          down: uniform(1 / Math.sqrt(inputs))(foldIn(key, path), [rank, inputs], inputs, rank),
          up: zeros([outputs, rank]),
        })),
      ),
    join,
    apply: (adapters, base, input, context) => model.apply(join(adapters, base), input, context),
    merge: (adapters, base) =>
      joinTrees<Weight, Weight>(inF32(above(base, adapters)), inF32(adapters), adapted, (layer) => {
        const weight = mergeWeight(layer, scale);
        return layer.isAlone ? weight : { ...layer.part, weight };
      }),
  };
}
