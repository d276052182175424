/** Muon: momentum whose matrices are made nearly orthogonal by the Newton-Schulz iteration. */

import {
  type ComputeDType,
  formatType,
  isTensor,
  leavesOf,
  mapTensors,
  type Tensor,
  type TensorTree,
} from "@mp/graph";
import {
  type Check,
  claim,
  count,
  type OptionTable,
  oneOf,
  readOptions,
  shapeMismatch,
  truth,
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
  /** Least norm that a matrix is divided by; default 1e-7. */
  readonly epsilon?: number;
  /** The dtype of the iteration's products; default f32. Norms, the average and the update are f32. */
  readonly dtype?: ComputeDType;
  /**
   * The factor of the learning rate, as in PyTorch's `adjust_lr_fn`. `original` is √max(1, out / in);
   * `match_rms_adamw` is 0.2 · √max(out, in), which suits rates and decays chosen for AdamW. Default `original`.
   */
  readonly rateScale?: keyof typeof RATE_SCALES;
}

const RATE_SCALES = {
  original: (inputs: number, outputs: number): number => Math.sqrt(Math.max(1, outputs / inputs)),
  match_rms_adamw: (inputs: number, outputs: number): number => 0.2 * Math.sqrt(Math.max(inputs, outputs)),
};

const coefficients: Check = claim(
  "a list of three finite numbers",
  (value) => Array.isArray(value) && value.length === 3 && value.every(Number.isFinite),
);

const MUON = {
  learningRate: rate,
  ...stateOptions(SLOTS),
  momentum: withDefault(0.95, averageFactor),
  nesterov: withDefault(true, truth),
  weightDecay: withDefault(0.1, decay),
  steps: withDefault(5, count),
  coefficients: withDefault([3.4445, -4.775, 2.0315], coefficients),
  epsilon: withDefault(1e-7, positiveEpsilon),
  dtype: withDefault("f32", oneOf("f32", "bf16", "f16")),
  rateScale: withDefault("original", oneOf("original", "match_rms_adamw")),
} satisfies OptionTable<MuonOptions>;

type Settings = Required<MuonOptions>;
type State = { readonly mean: TensorTree };

/**
 * Jordan et al. 2024, kellerjordan.github.io/posts/muon, as in PyTorch: m ← μ·m + (1-μ)·g; w ← w - η·(s·O + λ·w),
 * where O is the nearest matrix to m whose singular values are all about 1; with Nesterov it is nearest to (1-μ)·g +
 * μ·m. Takes matrices [in, out], such as the kernels of `dense`, and kernels of convolutions [out, in, …], as
 * matrices [out, in · …]. Give AdamW the other parameters, and usually embeddings and the last layer, by `byPath` and
 * `biasesAndNorms`.
 * @throws MP_SHAPE_MISMATCH, when training begins, for a parameter of fewer than two dimensions
 */
export function muon(options: MuonOptions): Optimizer<State> {
  const settings = readOptions("muon", options, MUON, {
    example: "{ learningRate: 0.02 }",
    elsewhere: { adjustLrFn: "did you mean rateScale?", nsSteps: "did you mean steps?" },
  });
  const shown = { ...settings, coefficients: settings.coefficients.join(" ") };
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
      update: (gradients, { mean: before }) => {
        const norms: Tensor[] = [];
        const mean = average(before, gradients, momentum);
        const ahead = nesterov ? average(mean, gradients, momentum) : mean;
        const updates = mapTensors((leaf) => {
          const { update, norm } = orthogonalize(leaf, settings);
          norms.push(norm);
          return update;
        }, ahead);
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

/** The orthogonalized direction of a leaf, f32, and the norm that the leaf was divided by. */
function orthogonalize(
  leaf: Tensor,
  { steps, coefficients: [a, b, c], epsilon, dtype, rateScale }: Settings,
): { readonly update: Tensor; readonly norm: Tensor } {
  const [rows = 1, ...others] = leaf.shape;
  const columns = others.reduce((product, size) => product * size, 1);
  const [inputs, outputs] = others.length === 1 ? [rows, columns] : [columns, rows];
  const turn = (x: Tensor): Tensor => (rows > columns ? transpose(x, [1, 0]) : x);
  const norm = globalNorm(leaf);
  // Turned so that the products are of the size of the shorter side.
  let x = cast(turn(reshape(div(leaf, maximum(norm, epsilon)), [rows, columns])), dtype);
  for (let step = 0; step < steps; step++) {
    const gram = gemm(x, x, undefined, { transB: true });
    const polynomial = gemm(gram, gram, gram, { alpha: c, beta: b });
    x = gemm(polynomial, x, x, { beta: a });
  }
  const update = reshape(turn(cast(x, "f32")), leaf.shape);
  return { update: mul(update, RATE_SCALES[rateScale](inputs, outputs)), norm };
}
