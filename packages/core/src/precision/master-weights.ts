/**
 * How parameters are kept and updated. f16 has 11 significant bits and bf16 has 8, so a sum in that dtype loses an
 * update below 2^-11 or 2^-8 of the weight (Micikevicius et al., arXiv 1710.03740, §3.1).
 */

import { foldIn, type HalfDType, type Key, mapTensors, type Tensor, type TensorTree } from "@mp/graph";
import { dtypeHint, invalid, shown } from "@mp/graph/internal";
import { add, cast, stochasticallyRounded, sub } from "@mp/graph/ops";

/** A way to store weights, built in or custom: three functions in traced operators. */
export interface MasterWeights<S extends TensorTree = TensorTree> {
  /** The method, with its dtype if it has one: `kahan(bf16)`. Loading a checkpoint with another name warns. */
  readonly name: string;
  /**
   * The entry of the state that holds the weights in the structure of the parameters; default the whole state.
   * `loadParameters` reads the weights there.
   */
  readonly weightsAt?: string;
  /** Whether updates below the weights' precision are kept, in a remainder or by stochastic rounding. */
  readonly keepsSmallUpdates?: true;
  /** The initial state for the user's parameters (f32). */
  init(parameters: TensorTree): S;
  /** The parameters that the loss is differentiated with respect to: the user's tree, in the dtype of storage. */
  parameters(state: S): TensorTree;
  /** The next state, with the f32 updates added. `key` is a stream of this step's randomness. */
  apply(state: S, updates: TensorTree, key: Key): S;
}

/** f32 master weights: the casting policy rounds a copy for each step; updates go to the masters, not to the copy. */
export function f32Master(): MasterWeights {
  return {
    name: "f32",
    init: (parameters) => parameters,
    parameters: (state) => state,
    apply: (state, updates) => mapTensors(add, state, updates),
  };
}

function checkHalf(what: string, dtype: unknown): void {
  if (dtype === "f16" || dtype === "bf16") return;
  throw invalid(`${what}: takes "f16" or "bf16", got ${shown(dtype)}${dtypeHint(dtype)}`);
}

const castAll = <T extends TensorTree>(tree: T, dtype: HalfDType): T =>
  mapTensors((leaf) => cast(leaf, dtype), tree);

/** Stores and updates weights in the half dtype, to show what is lost without master weights. */
export function noMasterWeights(dtype: HalfDType): MasterWeights {
  checkHalf("noMasterWeights", dtype);
  return {
    name: `none(${dtype})`,
    init: (parameters) => castAll(parameters, dtype),
    parameters: (state) => state,
    apply: (state, updates) =>
      mapTensors((weight, update) => add(weight, cast(update, dtype)), state, updates),
  };
}

export type KahanState = {
  /** The weights in the half dtype, as the loss gets them; `value` + `compensation` is nearly exact. */
  readonly value: TensorTree;
  /** The accumulated rounding error of the additions so far, in the same half dtype. */
  readonly compensation: TensorTree;
};

/** Weights in the half dtype with Kahan summation: two 16-bit numbers per weight, with nearly the accuracy of f32. */
export function kahan(dtype: HalfDType): MasterWeights<KahanState> {
  checkHalf("kahan", dtype);
  return {
    name: `kahan(${dtype})`,
    // The loss and `parameters()` read the value of the pair.
    weightsAt: "value",
    keepsSmallUpdates: true,
    init: (parameters) => {
      const value = castAll(parameters, dtype);
      const rest = (exact: Tensor, kept: Tensor): Tensor => cast(sub(exact, cast(kept, "f32")), dtype);
      return { value, compensation: mapTensors(rest, parameters, value) };
    },
    parameters: (state) => state.value,
    apply: ({ value, compensation }, updates) => {
      const step = mapTensors((lost, update) => add(lost, cast(update, dtype)), compensation, updates);
      const sum = mapTensors(add, value, step);
      const lost = mapTensors((y, before, after) => sub(y, sub(after, before)), step, value, sum);
      return { value: sum, compensation: lost };
    },
  };
}

/** Weights in bf16, rounded stochastically after an f32 addition: unbiased, with 16 bits per weight. */
export function stochasticRounding(): MasterWeights {
  return {
    name: "stochastic(bf16)",
    keepsSmallUpdates: true,
    init: (parameters) => castAll(parameters, "bf16"),
    parameters: (state) => state,
    apply: (state, updates, key) => {
      let leaf = 0;
      const round = (weight: Tensor, update: Tensor): Tensor =>
        stochasticallyRounded(add(cast(weight, "f32"), update), foldIn(key, leaf++));
      return mapTensors(round, state, updates);
    },
  };
}
