import { isComputeFloat } from "../dtype.js";
import { dtypeMismatch, invalid, shapeMismatch } from "../errors.js";
import { formatType } from "../graph/format-type.js";
import { producers, type Value } from "../graph/graph.js";
import { hoistInvariants } from "../graph/scan/hoist-invariants.js";
import { checkOptions } from "../options.js";
import { literal } from "../trace/ops/source.js";
import { cast } from "../trace/ops/unary.js";
import { isTensor, Tensor } from "../trace/tensor.js";
import { currentBuilder, traceInto, withoutLines, withPhase } from "../trace/trace.js";
import { leavesOf, rebuildTree } from "../tree.js";
import { emitGradient } from "./gradient.js";
import { type GradientCut, gradientCuts } from "./gradient-cuts.js";
import { saveResiduals } from "./save-residuals.js";

export interface GradOptions {
  /**
   * The loss scale: the initial gradient of the loss, a floating scalar. It is cast to the loss's dtype, so for an f16
   * loss it must be at most 65504. Default 1.
   */
  readonly seed?: Tensor;
  /** Called with the leaves that get zeros because no gradient reaches them, each time the function is traced. */
  readonly onUnreached?: (unreached: UnreachedLeaves) => void;
  /**
   * An entry of the first argument whose leaves are no parameters: a `customGradient` returns a number for each use of
   * such a leaf, and their maximum, not their sum, is the leaf's gradient.
   */
  readonly maximumOf?: string;
}

/** Leaves that the loss does not depend on, or depends on only through ops without a gradient. */
export interface UnreachedLeaves {
  readonly paths: readonly string[];
  /** True if no gradient reaches any leaf. */
  readonly isAll: boolean;
  /** The operators that stop gradients between the loss and the leaves; empty if the loss depends on no leaf. */
  readonly cuts: readonly GradientCut[];
  /** The user's line that made the loss. */
  readonly line: string | undefined;
}

/** With `hasAux` the function returns `[loss, aux]`; aux is any tree of tensors. */
export interface AuxOptions extends GradOptions {
  readonly hasAux: true;
}

export interface ValueAndGradients<P> {
  readonly value: Tensor;
  /** A tree like the first argument; each gradient has its leaf's shape and dtype. */
  readonly gradients: P;
}

export interface ValueGradientsAux<P, X> extends ValueAndGradients<P> {
  readonly aux: X;
}

type Returned = Tensor | readonly [loss: Tensor, aux: unknown];

/**
 * Returns a function that computes `fn`'s value and its gradients with respect to its first argument, a tree of
 * floating tensors. Works inside any trace and can be nested. The other arguments and the tensors that `fn` closes over
 * are constants. A leaf gets zeros if the loss does not depend on it.
 * @throws MP_SHAPE_MISMATCH for a loss that is not a scalar, MP_DTYPE_MISMATCH for a loss or leaf that is not floating,
 *   MP_NOT_DIFFERENTIABLE for an op without a gradient between leaf and loss
 */
export function valueAndGrad<P, A extends readonly unknown[], X>(
  fn: (parameters: P, ...rest: A) => readonly [loss: Tensor, aux: X],
  options: AuxOptions,
): (parameters: P, ...rest: A) => ValueGradientsAux<P, X>;
export function valueAndGrad<P, A extends readonly unknown[]>(
  fn: (parameters: P, ...rest: A) => Tensor,
  options?: GradOptions,
): (parameters: P, ...rest: A) => ValueAndGradients<P>;
export function valueAndGrad<P, A extends readonly unknown[]>(
  fn: (parameters: P, ...rest: A) => Returned,
  options: GradOptions & { readonly hasAux?: boolean } = {},
): (parameters: P, ...rest: A) => ValueAndGradients<P> & { readonly aux?: unknown } {
  checkOptions("valueAndGrad", options, {
    seed: true,
    onUnreached: true,
    maximumOf: true,
    hasAux: true,
  });
  return (parameters, ...rest) => {
    const builder = currentBuilder("valueAndGrad");
    const leaves = leavesOf(parameters, isTensor, "valueAndGrad");
    const outer = leaves.map(([path, leaf]) => {
      expectDifferentiable(leaf, path);
      return Tensor.valueIn(leaf, builder, "valueAndGrad");
    });
    const inputs = leaves.map(([path, type], index) => ({
      name: path === "" ? "argument" : `argument/${path}`,
      role: builder.roleOf(outer[index] as Value) ?? ("capture" as const),
      type,
    }));
    const written = traceInto(inputs, (tensors) =>
      lossFirst(fn(rebuildTree(parameters, isTensor, tensors) as P, ...rest), options.hasAux ?? false),
    );
    const wrt = written.graph.inputs.slice(0, leaves.length).map((input) => input.value);
    const traced = { ...written, graph: saveResiduals(hoistInvariants(written.graph), wrt) };
    const loss = traced.graph.outputs[0]?.value as Value;
    const captured = traced.captured.map((value) => builder.capture(value) as Value);
    const { values, names } = builder.inlineAll(traced.graph, [...outer, ...captured]);
    const seed = withPhase("backward", () =>
      withoutLines(() =>
        options.seed === undefined ? literal(1, loss.dtype) : cast(scalarSeed(options.seed), loss.dtype),
      ),
    );
    const isIn = (path: string): boolean => path.split("/")[0] === options.maximumOf;
    const gradients = emitGradient(builder, {
      maxima: new Set(wrt.filter((_, index) => isIn(leaves[index]?.[0] ?? ""))),
      graph: traced.graph,
      values,
      names,
      seeds: [[loss, Tensor.valueIn(seed, builder, "seed")]],
      wrt,
    });
    const differentiated = leaves.filter(([path]) => !isIn(path));
    const unreached = leaves.flatMap(([path], index) =>
      gradients[index]?.isReached === true || isIn(path) ? [] : [path],
    );
    if (unreached.length > 0) {
      options.onUnreached?.({
        paths: unreached,
        isAll: unreached.length === differentiated.length,
        cuts: gradientCuts(
          traced.graph,
          loss,
          wrt.filter((_, index) => gradients[index]?.isReached === false),
        ),
        line: producers(traced.graph).get(loss)?.origin.line,
      });
    }
    const wrap = (value: Value): Tensor => Tensor.of(value);
    const result = rebuildTree(
      traced.result,
      isTensor,
      traced.graph.outputs.map(({ value }) => wrap(values.get(value) as Value)),
    );
    return {
      value: result[0],
      gradients: rebuildTree(
        parameters,
        isTensor,
        gradients.map(({ value }) => wrap(value)),
      ) as P,
      ...(options.hasAux === true ? { aux: result[1] } : {}),
    };
  };
}

/** `valueAndGrad` that returns only the gradients. */
export function grad<P, A extends readonly unknown[]>(
  fn: (parameters: P, ...rest: A) => Tensor,
  options: GradOptions = {},
): (parameters: P, ...rest: A) => P {
  const differentiated = valueAndGrad(fn, options);
  return (parameters, ...rest) => differentiated(parameters, ...rest).gradients;
}

function lossFirst(returned: Returned, hasAux: boolean): readonly [loss: Tensor, aux: unknown] {
  const [loss, aux] = hasAux && Array.isArray(returned) ? (returned as readonly unknown[]) : [returned, []];
  if (!isTensor(loss)) {
    throw invalid(
      `valueAndGrad: the function returns ${hasAux ? "[loss, aux]" : "its loss"}, a Tensor; got ${Array.isArray(returned) ? "an array (for [loss, aux] pass hasAux: true)" : typeof returned}`,
    );
  }
  if (loss.shape.length !== 0) {
    throw shapeMismatch(`valueAndGrad: the loss must be a scalar, got ${formatType(loss)}; take its mean`, {
      details: { shape: loss.shape },
    });
  }
  if (!isComputeFloat(loss.dtype)) {
    throw dtypeMismatch(
      `valueAndGrad: the loss must be f32, f16 or bf16, got ${loss.dtype}; cast its inputs to f32`,
      { details: { dtype: loss.dtype } },
    );
  }
  return [loss, aux];
}

function expectDifferentiable(leaf: Tensor, path: string): void {
  if (isComputeFloat(leaf.dtype)) return;
  throw dtypeMismatch(
    `valueAndGrad: the first argument${path === "" ? "" : ` at ${path}`} is ${leaf.dtype}, which has no gradient; pass it as a later argument, or cast it to f32`,
    { details: { path, dtype: leaf.dtype } },
  );
}

function scalarSeed(seed: Tensor): Tensor {
  if (isTensor(seed) && seed.shape.length === 0 && isComputeFloat(seed.dtype)) return seed;
  throw invalid(
    `valueAndGrad: the seed must be a floating scalar tensor, got ${isTensor(seed) ? String(seed) : typeof seed}`,
  );
}
