import { callback, oneOf, optional } from "../argument-checks.js";
import { isFloat } from "../dtype.js";
import { dtypeMismatch, MpError } from "../errors.js";
import type { GraphBuilder } from "../graph/build/builder.js";
import { formatType } from "../graph/format-type.js";
import type { AnyNode, Graph, Value, ValueType } from "../graph/graph.js";
import { readOptions } from "../option-table.js";
import { sameShape } from "../shape.js";
import { shown } from "../shown.js";
import { type TensorTree, tensorsOf } from "../trace/map-tensors.js";
import { identity } from "../trace/ops/unary.js";
import { isTensor, Tensor } from "../trace/tensor.js";
import { currentBuilder, originHere, traceInto } from "../trace/trace.js";
import { leavesOf, type MapLeaves, mapTree, rebuildTree } from "../tree.js";
import { gradientDType } from "./rules/rule.js";

/** The values of one call that its gradient rule reads. */
interface Call<A, Y> {
  readonly inputs: A;
  readonly result: Y;
}

interface CallWithResiduals<A, Y, R> extends Call<A, Y> {
  readonly residuals: R;
}

/** Trees of cotangents, one for each input and in its structure; undefined or null means no cotangent. */
type CotangentsOf<A extends readonly unknown[]> = {
  readonly [K in keyof A]: MapLeaves<A[K], Tensor, Cotangent> | undefined | null;
};
type Cotangent = Tensor | undefined | null;

/** With `hasResiduals` the function returns `[result, residuals]`; both are trees of tensors. */
interface CustomGradientOptions {
  readonly hasResiduals: true;
}

/**
 * Gives a function a gradient of your own, like `jax.custom_vjp`, `tf.custom_gradient` and `torch.autograd.Function`.
 * The rule gets the cotangents of the result, a tree like the result, and returns a list of one cotangent per input, in
 * the input's shape and dtype (f32 for f8). Return undefined or null for an input without a cotangent, which may be a
 * tree; integers never have one. The rule is traced with the function and may use any operator, so that
 * the gradient can be differentiated, too. Values that the rule reads are kept, or recomputed under `remat`. Residuals
 * are values of the function that the rule needs besides inputs and result; second derivatives pass through them.
 *
 * A casting policy changes the dtypes of the function, but not of the rule, which stays as written: cast in the rule
 * where you want a half dtype. Tensors from outside that the function closes over are constants.
 * @throws MP_INVALID_ARGUMENT, MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH for cotangents that do not match the inputs;
 *   MP_NOT_DIFFERENTIABLE for a gradient with respect to a tensor that the function closes over
 * @example
 * ```ts
 * const reverseGradient = customGradient(
 *   (x: Tensor) => x,
 *   (_, cotangent) => [neg(cotangent)],
 * );
 * ```
 */
export function customGradient<A extends readonly TensorTree[], Y extends TensorTree, R extends TensorTree>(
  fn: (...inputs: A) => readonly [result: Y, residuals: R],
  rule: (call: CallWithResiduals<A, Y, R>, cotangents: Y) => CotangentsOf<A>,
  options: CustomGradientOptions,
): (...inputs: A) => Y;
export function customGradient<A extends readonly TensorTree[], Y extends TensorTree>(
  fn: (...inputs: A) => Y,
  rule: (call: Call<A, Y>, cotangents: Y) => CotangentsOf<A>,
): (...inputs: A) => Y;
export function customGradient<A extends readonly TensorTree[], Y extends TensorTree>(
  fn: (...inputs: A) => unknown,
  rule: (call: CallWithResiduals<A, Y, TensorTree>, cotangents: Y) => unknown,
  options: Partial<CustomGradientOptions> = {},
): (...inputs: A) => Y {
  callback("customGradient: the function", fn);
  callback("customGradient: the rule", rule);
  const { hasResiduals } = readOptions("customGradient", options, {
    hasResiduals: optional(oneOf(true)),
  });
  let isInRule = false;
  return (...passed) => {
    if (isInRule) {
      throw invalid(
        "the rule must not call its own function: the rule is traced with each call, which would never end",
      );
    }
    const builder = currentBuilder("customGradient");
    const valueIn = (tensor: Tensor): Value => Tensor.valueIn(tensor, builder, "customGradient");
    // Copies the inputs, so that a tensor that the function also closes over counts as closed over.
    const inputs = mapTree(passed, isTensor, identity, "customGradient: the inputs") as unknown as A;
    const given = leavesOf(inputs, isTensor, "customGradient: the inputs");
    const x = given.map(([, leaf]) => valueIn(leaf));
    const start = builder.nodes.length;
    const [returned, residuals] = checkReturned(fn(...inputs), hasResiduals === true);
    // Copies the results, since a result that is also an input needs a gradient of its own.
    const result = mapTree(returned, isTensor, identity, "customGradient: the result") as unknown as Y;
    const y = tensorsOf(result);
    if (y.length === 0) throw invalid("the function must return a tensor or a tree of tensors, got none");
    const closedOver = findOutside(builder.nodes.slice(start), x);

    const call = { inputs, result, residuals };
    const seen = leavesOf(call, isTensor, "customGradient: the residuals").map(([, leaf]) => leaf);
    const types: readonly ValueType[] = [
      ...seen,
      ...y.map(({ dtype, shape }) => ({ dtype: gradientDType(dtype), shape })),
    ];
    let cotangents: readonly (Tensor | undefined)[] = [];
    const traced = traceInto(
      types.map((type, index) => ({ name: String(index), role: "capture" as const, type })),
      (tensors) => {
        const own = currentBuilder("customGradient");
        const { segment: _recomputed, ...origin } = own.origin;
        own.origin = { ...origin, phase: "backward" };
        const ofCall = rebuildTree(call, isTensor, tensors.slice(0, seen.length)) as unknown as typeof call;
        const ofResult = rebuildTree(result, isTensor, tensors.slice(seen.length)) as unknown as Y;
        isInRule = true;
        try {
          cotangents = checkCotangents(rule(ofCall, ofResult), given, own, inputs.length);
        } finally {
          isInRule = false;
        }
        return cotangents.filter(isTensor);
      },
    );
    const captured = traced.captured.map((value) => valueIn(Tensor.of(value)));
    const read = [...seen.map(valueIn), ...captured];
    const { body, reads } = onlyRead(traced.graph, read, seen.length, y.length);
    const wrt = x.filter((_, index) => cotangents[index] !== undefined);
    const custom = { body, results: y.length, inputs: wrt.length, closedOver: closedOver.length };
    const operands = [...y.map(valueIn), ...wrt, ...closedOver, ...reads];
    builder.emit("Barrier", operands, {}, { ...originHere(builder), custom });
    return result;
  };
}

function checkReturned(
  returned: unknown,
  hasResiduals: boolean,
): readonly [result: TensorTree, residuals: TensorTree] {
  if (!hasResiduals) return [returned as TensorTree, []];
  if (Array.isArray(returned) && returned.length === 2) return [returned[0], returned[1]];
  throw invalid(`with hasResiduals the function must return [result, residuals], got ${shown(returned)}`);
}

/** Floating values that the nodes read but do not make, other than the inputs. */
function findOutside(nodes: readonly AnyNode[], inputs: readonly Value[]): readonly Value[] {
  const own = new Set([...inputs, ...nodes.flatMap(({ outputs }) => outputs)]);
  const read = nodes.flatMap((node) => node.inputs);
  return [...new Set(read)].filter((value) => !own.has(value) && isFloat(value.dtype));
}

/**
 * Removes the inputs that the rule does not read. Returns the remaining rule, with the cotangents (`count` inputs
 * from `first` on) moved to the end, and the values of its other inputs.
 */
function onlyRead(
  { inputs, nodes, outputs }: Graph,
  values: readonly Value[],
  first: number,
  count: number,
): { readonly body: Graph; readonly reads: readonly Value[] } {
  const read = new Set([...nodes.flatMap((node) => node.inputs), ...outputs.map(({ value }) => value)]);
  const cotangents = inputs.slice(first, first + count);
  const others = inputs.toSpliced(first, count);
  const kept = others.flatMap((input, index) =>
    read.has(input.value) ? [{ input, value: values[index] as Value }] : [],
  );
  return {
    body: { inputs: [...kept.map(({ input }) => input), ...cotangents], nodes, outputs },
    reads: kept.map(({ value }) => value),
  };
}

type Leaves = readonly (readonly [path: string, leaf: Tensor])[];

const isCotangent = (value: unknown): value is Cotangent =>
  value === undefined || value === null || isTensor(value);

/** The cotangent of each leaf of the inputs. @throws MP_INVALID_ARGUMENT, MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH */
function checkCotangents(
  returned: unknown,
  given: Leaves,
  builder: GraphBuilder,
  count: number,
): readonly (Tensor | undefined)[] {
  if (!Array.isArray(returned) || returned.length !== count) {
    const got = Array.isArray(returned) ? `a list of ${returned.length}` : shown(returned);
    throw invalid(
      `the rule must return a list of ${count} cotangent${count === 1 ? "" : "s"}, one for each input, got ${got}`,
    );
  }
  const found = new Map(leavesOf(returned, isCotangent, "customGradient: the cotangents"));
  const used = new Set<string>();
  const cotangents = given.map(([path, leaf]) => {
    const place = findPlace(path, found);
    if (place === undefined)
      throw invalid(`the rule must return a cotangent for ${inputName(path)}, or undefined`);
    used.add(place);
    const cotangent = found.get(place) ?? undefined;
    if (cotangent !== undefined) checkCotangent(cotangent, path, leaf, builder);
    return cotangent;
  });
  const stray = [...found].find(([path, cotangent]) => isTensor(cotangent) && !used.has(path));
  if (stray !== undefined)
    throw invalid(`the rule returns a cotangent for ${inputName(stray[0])}, which is no tensor`);
  return cotangents;
}

/** The path of the cotangent given for a leaf: the leaf's path, or its input's if that is given as a whole. */
function findPlace(path: string, found: ReadonlyMap<string, Cotangent>): string | undefined {
  if (found.has(path)) return path;
  const [input = ""] = path.split("/");
  return found.has(input) && !isTensor(found.get(input)) ? input : undefined;
}

function checkCotangent(cotangent: Tensor, path: string, input: Tensor, builder: GraphBuilder): void {
  const what = `customGradient: the cotangent of ${inputName(path)}`;
  Tensor.valueIn(cotangent, builder, what);
  if (!isFloat(input.dtype)) {
    throw dtypeMismatch(
      `${what} must be undefined, since ${input.dtype} has no gradient; got ${formatType(cotangent)}`,
    );
  }
  const type = formatType({ dtype: gradientDType(input.dtype), shape: input.shape });
  if (formatType(cotangent) === type) return;
  const isShape = !sameShape(cotangent.shape, input.shape);
  throw new MpError(
    isShape ? "MP_SHAPE_MISMATCH" : "MP_DTYPE_MISMATCH",
    `${what} must be ${type}, got ${formatType(cotangent)}; ${isShape ? "sum it over the axes along which the input was broadcast" : "cast it"}`,
  );
}

/** Writes the path `1/weights/0` as `input 1 at weights/0`. */
function inputName(path: string): string {
  const [index, ...rest] = path.split("/");
  return `input ${index}${rest.length === 0 ? "" : ` at ${rest.join("/")}`}`;
}

function invalid(message: string): MpError<"MP_INVALID_ARGUMENT"> {
  return new MpError("MP_INVALID_ARGUMENT", `customGradient: ${message}`);
}
