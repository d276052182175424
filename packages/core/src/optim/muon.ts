/** Muon: momentum whose matrices are made nearly orthogonal by the Newton-Schulz iteration. */

import {
  type ComputeDType,
  formatType,
  isTensor,
  leavesOf,
  mapTree,
  type Tensor,
  type TensorTree,
} from "@mp/graph";
import {
  type Check,
  checks,
  invalid,
  type OptionTable,
  readOptions,
  shapeMismatch,
  shown,
  withDefault,
} from "@mp/graph/internal";
import { cast, div, gemm, maximum, mul, reshape, transpose } from "@mp/graph/ops";
import { compose } from "./composed.js";
import { globalNorm } from "./global-norm.js";
import { averageFactor } from "./hyperparameter.js";
import { average, positiveEpsilon } from "./moments.js";
import {
  type GradientTransformation,
  type LearningRate,
  type Optimizer,
  rate,
  zerosLike,
} from "./optimizer.js";
import { type StateOptions, stateOptions } from "./states/state-options.js";
import { direction } from "./transformation.js";
import { decay, decayBy } from "./weight-decay.js";

const SLOTS = { mean: "both" } as const;

export interface MuonOptions extends StateOptions<keyof typeof SLOTS> {
  readonly learningRate: LearningRate;
  /** Decay of the moving average of gradients; default 0.95. */
  readonly momentum?: number;
  /** Nesterov momentum; default true. */
  readonly nesterov?: boolean;
  /** Decoupled weight decay of the master weights; default 0.1. */
  readonly weightDecay?: number;
  /** Newton-Schulz iterations; default 5. */
  readonly steps?: number;
  /** a, b and c of X ← a·X + (b·A + c·A²)·X with A = X·Xᵀ; default [3.4445, -4.775, 2.0315]. */
  readonly coefficients?: readonly [a: number, b: number, c: number];
  /** Smallest norm that a matrix is divided by; default 1e-7. */
  readonly epsilon?: number;
  /** The dtype of the iteration's products; default f32. Norms, the average and the update are f32. */
  readonly dtype?: ComputeDType;
  /**
   * The factor of the learning rate, as in PyTorch's `adjust_lr_fn`. `original` is √max(1, out / in);
   * `match_rms_adamw` is 0.2 · √max(out, in), which suits rates and decays chosen for AdamW. Default `original`.
   */
  readonly rateScale?: keyof typeof RATE_SCALES;
  /**
   * The axis of a parameter's outputs, for all parameters or by path: 1 or -1 for [in, out], 0 for [out, in], undefined
   * where it is unknown. `causalLm` and `fromOnnx` models have it as `outputAxis`; `@mp/nn` exports one. By default it
   * is unknown: matrices count as [in, out], with a warning if that changes their factor, kernels as [out, in, …].
   */
  readonly outputAxis?: number | OutputAxis;
}

/** Tells the axis of a parameter's outputs by its path (names joined by `/`) and its shape; undefined if unknown. */
export type OutputAxis = (
  path: string,
  parameter: { readonly shape: readonly number[] },
) => number | undefined;

const RATE_SCALES = {
  original: (inputs: number, outputs: number): number => Math.sqrt(Math.max(1, outputs / inputs)),
  match_rms_adamw: (inputs: number, outputs: number): number => 0.2 * Math.sqrt(Math.max(inputs, outputs)),
};

const coefficients: Check = checks.claim(
  "a list of three finite numbers",
  (value) => Array.isArray(value) && value.length === 3 && value.every(Number.isFinite),
);

const outputAxis: Check = checks.claim(
  "an integer, or a function of a parameter's path and shape",
  (value) => value === undefined || Number.isInteger(value) || typeof value === "function",
);

const MUON = {
  learningRate: rate,
  ...stateOptions(SLOTS),
  momentum: withDefault(0.95, averageFactor),
  nesterov: withDefault(true, checks.truth),
  weightDecay: withDefault(0.1, decay),
  steps: withDefault(5, checks.count),
  coefficients: withDefault([3.4445, -4.775, 2.0315], coefficients),
  epsilon: withDefault(1e-7, positiveEpsilon),
  dtype: withDefault("f32", checks.oneOf("f32", "bf16", "f16")),
  rateScale: withDefault("original", checks.oneOf("original", "match_rms_adamw")),
  outputAxis,
} satisfies OptionTable<MuonOptions>;

type Settings = Required<Omit<MuonOptions, "outputAxis">> & {
  readonly outputAxis?: MuonOptions["outputAxis"] | undefined;
};
type State = { readonly mean: TensorTree };

/**
 * Jordan et al. 2024, kellerjordan.github.io/posts/muon, as in PyTorch: m ← μ·m + (1-μ)·g; w ← w - η·(s·O + λ·w), where
 * s is the factor of `rateScale` and O the matrix nearest to m with singular values of about 1; with Nesterov it is
 * nearest to (1-μ)·g + μ·m. Takes matrices, and kernels of convolutions as matrices [out, in · …]; `outputAxis` says
 * where the outputs are. Give AdamW the other parameters, and usually embeddings and the last layer, by `byPath` and
 * `biasesAndNorms`.
 * @throws MP_SHAPE_MISMATCH, when training begins, for a parameter of fewer than two dimensions
 */
export function muon(options: MuonOptions): Optimizer<State> {
  const settings = readOptions("muon", options, MUON, {
    example: "{ learningRate: 0.02 }",
    elsewhere: { adjustLrFn: "did you mean rateScale?", nsSteps: "did you mean steps?" },
  });
  const { outputAxis, ...rest } = settings;
  const axis = outputAxis === undefined ? {} : { outputAxis };
  const shown = { ...rest, coefficients: settings.coefficients.join(" "), ...axis };
  return compose("muon", shown, [part(settings), ...decayBy(settings.weightDecay)]);
}

function part(settings: Settings): GradientTransformation<State> {
  const { momentum, nesterov } = settings;
  const { states, rounding, minU8Elements } = settings;
  return direction(
    "scaleByMuon",
    { states, rounding, minU8Elements },
    {
      slots: SLOTS,
      scope: "leaf",
      init: (parameters) => {
        expectMatrices(parameters);
        return { mean: zerosLike(parameters) };
      },
      update: (gradients, { mean: before }, _parameters, { warn }) => {
        const norms: Tensor[] = [];
        const unknown: string[] = [];
        const mean = average(before, gradients, momentum);
        const ahead = nesterov ? average(mean, gradients, momentum) : mean;
        const updates = mapTree(ahead, isTensor, (leaf, path): Tensor => {
          const axis = axisOf(settings.outputAxis, path, leaf);
          if (axis === undefined && isAmbiguous(leaf, settings)) unknown.push(path);
          const { update, norm } = orthogonalize(leaf, axis ?? (leaf.shape.length === 2 ? 1 : 0), settings);
          norms.push(norm);
          return update;
        }) as TensorTree;
        if (unknown.length > 0) warn?.(ambiguous(unknown));
        return { updates, state: { mean }, rates: norms };
      },
    },
  );
}

function expectMatrices(parameters: TensorTree): void {
  const flat = leavesOf(parameters, isTensor, "parameters").find(([, { shape }]) => shape.length < 2);
  if (flat === undefined) return;
  throw shapeMismatch(
    `muon: ${flat[0] || "the parameter"} is ${formatType(flat[1])}, but must have two dimensions or more; give it an optimizer of its own: byPath([{ group: "flat", paths: biasesAndNorms, optimizer: adamW({ learningRate: 1e-3 }) }], muon({ … }))`,
  );
}

/** The axis of a parameter's outputs, counted from the first. @throws MP_INVALID_ARGUMENT for an axis that it lacks */
function axisOf(
  option: MuonOptions["outputAxis"],
  path: string,
  { shape }: Pick<Tensor, "shape">,
): number | undefined {
  const given = typeof option === "function" ? option(path, { shape }) : option;
  const axis = given !== undefined && given < 0 ? given + shape.length : given;
  if (axis === undefined || (Number.isInteger(axis) && axis >= 0 && axis < shape.length)) return axis;
  throw invalid(
    `muon: outputAxis must be an axis of ${path || "the parameter"} [${shape.join(", ")}] or undefined, got ${shown(given)}`,
  );
}

/** Whether the factor of the learning rate depends on which axis of a matrix has the outputs. */
const isAmbiguous = ({ shape: [rows = 1, columns = 1, ...more] }: Tensor, { rateScale }: Settings): boolean =>
  more.length === 0 && RATE_SCALES[rateScale](rows, columns) !== RATE_SCALES[rateScale](columns, rows);

const ambiguous = ([first, ...more]: readonly string[]): string =>
  `muon: the learning rate of ${first || "the parameter"}${more.length === 0 ? "" : ` and ${more.length} more`} depends on the side of its outputs, which is unknown: it is taken as [in, out]; pass outputAxis: model.outputAxis for a model of causalLm or fromOnnx, outputAxis of @mp/nn for its layers, 0 for [out, in], or 1 for [in, out]`;

/** The orthogonalized direction of a leaf, f32, and the norm that the leaf was divided by. */
function orthogonalize(
  leaf: Tensor,
  axis: number,
  { steps, coefficients: [a, b, c], epsilon, dtype, rateScale }: Settings,
): { readonly update: Tensor; readonly norm: Tensor } {
  const isMatrix = leaf.shape.length === 2;
  const order = leaf.shape.map((_, at) => at).filter((at) => at !== axis);
  const perm = isMatrix ? [0, 1] : [axis, ...order];
  const back = perm.map((_, at) => perm.indexOf(at));
  const moved = perm.map((at) => leaf.shape[at] as number);
  const move = (x: Tensor, by: readonly number[]): Tensor => (isMatrix || axis === 0 ? x : transpose(x, by));
  const outputs = leaf.shape[axis] as number;
  const inputs = order.reduce((product, at) => product * (leaf.shape[at] as number), 1);
  const [rows, columns] = isMatrix && axis === 1 ? [inputs, outputs] : [outputs, inputs];
  const turn = (x: Tensor): Tensor => (rows > columns ? transpose(x, [1, 0]) : x);
  const norm = globalNorm(leaf);
  // Transposed so that the products have the size of the shorter side.
  let x = cast(turn(reshape(move(div(leaf, maximum(norm, epsilon)), perm), [rows, columns])), dtype);
  for (let step = 0; step < steps; step++) {
    const gram = gemm(x, x, undefined, { transB: true });
    const polynomial = gemm(gram, gram, gram, { alpha: c, beta: b });
    x = gemm(polynomial, x, x, { beta: a });
  }
  const update = move(reshape(turn(cast(x, "f32")), moved), back);
  return { update: mul(update, RATE_SCALES[rateScale](inputs, outputs)), norm };
}
