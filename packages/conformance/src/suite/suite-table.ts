/**
 * The cases that the suite keeps of each group, and why they are enough at every commit; others run in the soak. The
 * suite keeps all cases that a wrong backend of `test/wrong-backends` names, and the kinds that have failed on an
 * engine.
 */

/**
 * The dtypes in which the suite keeps a claim, that is, a behavior of an operator. `first-dtype`: the first, which has
 * most samples. `two-dtypes`: the first and one other. `each-kind-of-dtype`: the first, and one of each other kind: a
 * half dtype, an integer of 32 or 64 bits, a dtype of 8 bits. Which one it is changes from claim to claim.
 */
export type Dtypes = "all" | "first-dtype" | "two-dtypes" | "each-kind-of-dtype";

export interface Kept {
  /** Dtypes of all claims, or all matching cases. A pattern matches ids without the group. */
  readonly keeps: readonly (Dtypes | RegExp)[];
  readonly because: string;
}

const all = (because: string): Kept => ({ keeps: ["all"], because });
const some = (because: string, ...keeps: Kept["keeps"]): Kept => ({ keeps, because });

export const suiteTable: Readonly<Record<string, Kept>> = {
  manifest: all("every other case reads what a backend supports from its manifest"),
  factory: all("an engine may keep globally what belongs to one backend"),
  transfer: all("every call that takes an array copies it by other code, for each dtype"),
  lifecycle: all("each call must fail with its code after a disposal"),
  aliasing: all("an array with two owners changes results of later runs; one dtype of each size"),
  state: all("a step commits completely or not at all"),
  constant: all("engines compute with constants when they compile"),
  "in-place": all("a slot that is changed in place has no copy to return to"),
  order: all("calls overlap in every training loop"),
  repeat: all("engines keep arrays and programs between runs"),
  stats: all("the leak check of every case reads `stats`"),
  program: some(
    "an engine that takes one program for another is wrong without an error; operators with each type of attribute",
    /^[a-z]/,
    /^(AveragePool|Attention|Cast|Clip|Conv|CumSum|Einsum|Elu|Gelu|Gemm|LayerNormalization|Pad|RandomBits|Range)\//,
    /^(Scan|ScatterElements|Slice|Softmax|Tile|TopK|Transpose)\//,
  ),
  "many-runs": all("counters wrap, and buffers are used again, after many runs"),
  many: all("tables of a fixed size overflow"),
  names: all("names go through the engine's files and maps"),
  "live-arrays": all("garbage collection frees what an engine still reads"),
  "large-state": all("random bits show an element that is moved as another dtype"),
  cast: all("every tie and every bit pattern of a half is a claim of its own"),
  op: some(
    "the first dtype has most samples; operators whose kernels differ between halves, or between integers, have those; `form` has the others",
    "first-dtype",
    /^(Scan|Einsum|Attention|Scatter(ND|Elements))-/,
    /-b?f16\//,
  ),
  reduce: all("engines' reductions lose NaN, in f32 and in a half by different code"),
  summation: all("a manifest declares the dtype that each sum accumulates in"),
  random: all("one wrong bit changes every mask of a training run"),
  size: all("engines switch to other code above a size, for products and moves of halves elsewhere"),
  tail: all(
    "registers of f32 leave each remainder, and kernels of other dtypes are compiled from the same source",
  ),
  "equal-sides": all("which axis is which does not depend on the dtype"),
  axis: all("strides are wrong along one axis, at one rank; `form` has other dtypes"),
  form: all("engines compile each dtype apart, and choose kernels by rank, axis and attribute"),
  option: all("an attribute means the same in every dtype, except numbers that are rounded to it"),
  integer: all("engines send integers through floats, each operator by itself"),
  fusion: all("a fused product and sum is rounded once instead of twice"),
  rewrite: some(
    "optimizers apply identities that do not hold, to halves and integers as to f32; XLA cannot compile constants of 8-bit floats",
    /-f32\//,
    /^nodes-f8e5m2\/of-any-place/,
    "two-dtypes",
    /^(Not-of-|ReduceMax-of-|Sqrt-)/,
  ),
  rare: all("subnormals, overflow and bytes of bools take other paths in each dtype"),
  gradient: some("each rule makes a chain of operators that no other case runs", "each-kind-of-dtype"),
  autocast: all("engines drop pairs of casts, so that nothing is rounded"),
  "custom-gradient": some(
    "functions of users meet loops, recomputation and casts",
    /(alone|remat|scan|in-scan|float16|alone-twice|scan-twice)$/,
    /reversal/,
  ),
  image: all("the compositions do not depend on the dtype"),
  "public-bugs": all("each was an engine's, and no other case has its input"),
  "finite-check": all("a gradient that the check does not cover destroys a run"),
  loop: all("the body of a loop is compiled by other code than a graph"),
  "loss-scale": all("a gradient that underflows is lost without it"),
  retry: all("a retried step draws the same numbers"),
  skip: all("a step that is not applied changes nothing"),
  "master-weights": all("small updates vanish in a half"),
  accumulate: all("sums over microbatches are in the engine's state"),
  remat: all("a recomputed mask must be the same one"),
  recipe: all("each kind of scale is made by other operators, and a wrong one trains on wrong numbers"),
  ranks: some(
    "ranks must stay equal in every bit; what is divided differs between optimizers, not between engines",
    /^(halves|overflow-of-one|randomness|stay-equal|one|model-state|model-state-of-one)\//,
    /^resume\/adam|^shard\/(adamw-mixed-float16|lamb|an-overflow)/,
  ),
  objectives: all("several losses commit into one state"),
  run: all(
    "a whole run has all operators of a step; one optimizer of each kind, each precision, each kind of model",
  ),
  resume: some(
    "a resumed run gives the same bits: dropout and stochastic rounding draw",
    /^float32|^stochastic/,
  ),
  determinism: all("the manifest claims it"),
  leak: all("what a step leaves behind adds up"),
};
