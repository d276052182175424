import { invalid, MpError } from "../errors.js";
import { GraphBuilder } from "../graph/build/builder.js";
import type { Graph, InputRole, Origin, Phase, Value, ValueType } from "../graph/graph.js";
import { leavesOf, type MapLeaves, rebuildTree } from "../tree.js";
import { findUserLine, STACK_DEPTH, userLine } from "./line.js";
import { pinsCasts } from "./pins.js";
import { isTensor, Tensor } from "./tensor.js";

/** The builder that operator functions append to. Tracing is synchronous, so a variable is enough. */
let current: GraphBuilder | undefined;
/** Number of enclosing `withoutLines` calls. Within them nodes get no line; the SDK's own lines do not help a user. */
let quiet = 0;

/** @throws MP_INVALID_ARGUMENT outside a trace */
export function currentBuilder(what: string): GraphBuilder {
  if (current === undefined) {
    throw invalid(`${what}: operators work inside a traced function (a loss, a layer's apply)`);
  }
  return current;
}

/** Runs `body` with operators appending to `builder`; restores the previous builder, also after a throw. */
export function withBuilder<T>(builder: GraphBuilder, body: () => T): T {
  const outer = current;
  current = builder;
  try {
    const result = body();
    if (result instanceof Promise) {
      result.catch(() => undefined);
      throw invalid("a traced function is synchronous, got one that returns a promise");
    }
    return result;
  } finally {
    current = outer;
  }
}

/** Changes the origin of the nodes that `body` emits. */
function withOrigin<T>(change: (origin: Origin) => Origin, body: () => T): T {
  const builder = currentBuilder("scope");
  const outer = builder.origin;
  builder.origin = change(outer);
  try {
    return body();
  } finally {
    builder.origin = outer;
  }
}

/**
 * Names the scope of the nodes that `body` emits; nested scopes join with `/`. Casting overrides select by this path;
 * errors, profiles and reports show it.
 */
export function scope<T>(name: string, body: () => T): T {
  return withOrigin(
    ({ label, ...origin }) => ({
      ...origin,
      scope: joinPaths(origin.scope, name),
      ...(label === undefined ? {} : { label: joinPaths(label, name) }),
    }),
    body,
  );
}

/** Like `scope`, but reports show the label instead of the name, and errors of the body begin with it. */
export function withLabel<T>(name: string, label: string, body: () => T): T {
  const { label: around, scope: path } = currentBuilder("scope").origin;
  const layer = joinPaths(around ?? path, label);
  try {
    return withOrigin((origin) => ({ ...origin, scope: joinPaths(path, name), label: layer }), body);
  } catch (error) {
    throw withLayer(error, layer);
  }
}

/** Begins an error's message with the innermost layer, and keeps its stack. */
function withLayer(error: unknown, layer: string): unknown {
  if (!MpError.is(error) || error.details["layer"] !== undefined) return error;
  const { code, message, details, stack } = error;
  const named = new MpError(code, `${layer}: ${message}`, { details: { ...details, layer }, cause: error });
  if (stack !== undefined) named.stack = stack.replace(message, () => named.message);
  return named;
}

/** Joins paths by `/` and leaves out empty ones. */
export const joinPaths = (...paths: readonly string[]): string =>
  paths.filter((path) => path !== "").join("/");

export function withPhase<T>(phase: Phase, body: () => T): T {
  return withOrigin((origin) => ({ ...origin, phase }), body);
}

export function withSegment<T>(segment: number, body: () => T): T {
  return withOrigin((origin) => ({ segment, ...origin }), body);
}

/** Runs `body` outside of any `remat` segment, so the values that it emits are kept, not recomputed. */
export function withoutSegment<T>(body: () => T): T {
  return withOrigin(({ segment: _left, ...origin }) => origin, body);
}

/** Runs `body` so that no gradient flows through the nodes that it emits. */
export function withoutGradient<T>(body: () => T): T {
  return withOrigin((origin) => ({ ...origin, stopsGradient: true }), body);
}

/** Runs `body`, which makes random numbers, so that no casting policy changes the dtypes of the nodes that it emits. */
export function asDraw<T>(body: () => T): T {
  return withOrigin((origin) => ({ ...origin, castSettled: "draw" }), body);
}

/** Marks the nodes that `body` emits as parts of a mean whose terms have unequal weights. */
export function withUnevenMean<T>(body: () => T): T {
  return withOrigin((origin) => ({ ...origin, isUneven: true }), body);
}

/** Runs SDK code whose nodes should not have a user line. */
export function withoutLines<T>(body: () => T): T {
  quiet++;
  try {
    return body();
  } finally {
    quiet--;
  }
}

/** Whether a cast to a tensor's own dtype has an effect here: in user code under a casting policy. */
export function keepsCasts(): boolean {
  return quiet === 0 && current !== undefined && pinsCasts(current);
}

/**
 * Runs a user function. If it throws an MpError that names no line (from a layer, or for an axis out of range), adds
 * the innermost line outside the SDK.
 */
export function atUserLines<T>(body: () => T): T {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = STACK_DEPTH;
  try {
    return body();
  } catch (error) {
    if (!MpError.is(error) || error.details["line"] !== undefined) throw error;
    const { code, message, stack = "", details } = error;
    const line = findUserLine(stack.slice(stack.indexOf(message) + message.length));
    if (line === undefined) throw error;
    throw new MpError(code, `${message} (at ${line})`, { details: { ...details, line }, cause: error });
  } finally {
    Error.stackTraceLimit = limit;
  }
}

/** The origin for the next node: the builder's origin with the user's line. */
export function originHere(builder: GraphBuilder): Origin {
  if (quiet > 0 || builder.origin.line !== undefined) return builder.origin;
  const line = userLine();
  return line === undefined ? builder.origin : { ...builder.origin, line };
}

export interface TracedInput {
  readonly name: string;
  readonly role: InputRole;
}

/** A traced function: its graph and the structure of its result. */
export interface TracedGraph<R> {
  readonly graph: Graph;
  /** Values of the enclosing trace, in the order of the graph's `capture` inputs (which come last). */
  readonly captured: readonly Value[];
  /** The result of the function; its tensors are in the order of the graph's outputs. */
  readonly result: R;
}

/**
 * Traces `body` into a separate graph. Every element of `inputs` becomes an input; tensors of the enclosing trace
 * that the body closes over become `capture` inputs.
 * @throws whatever the body throws; MP_INVALID_ARGUMENT for a result that is not a tree of tensors
 */
export function traceInto<R>(
  inputs: readonly (TracedInput & { readonly type: ValueType })[],
  body: (inputs: readonly Tensor[]) => R,
): TracedGraph<R> {
  const builder = new GraphBuilder(current);
  if (current !== undefined) builder.origin = current.origin;
  const result = withBuilder(builder, () =>
    body(inputs.map(({ name, role, type }) => Tensor.of(builder.input(name, type, role)))),
  );
  const outputs = new Map<string, Value>();
  for (const [path, leaf] of leavesOf(result, isTensor, "result")) {
    outputs.set(path === "" ? "result" : path, Tensor.valueIn(leaf, builder, "result"));
  }
  return { graph: builder.finish(outputs), captured: builder.captured, result };
}

/** Appends a traced graph to the current trace and returns its result as tensors of that trace. */
export function inlineTraced<R>(
  traced: TracedGraph<R>,
  inputs: readonly Tensor[],
  stamp?: (origin: Origin) => Origin,
): MapLeaves<R, Tensor, Tensor> {
  const builder = currentBuilder("inline");
  const values = inputs.map((input) => Tensor.valueIn(input, builder, "inline"));
  const captured = traced.captured.map((value) => {
    const inner = builder.capture(value);
    if (inner === undefined) throw new Error("internal: a captured value is out of reach");
    return inner;
  });
  const outputs = builder.inline(traced.graph, [...values, ...captured], stamp);
  return rebuildTree(
    traced.result,
    isTensor,
    outputs.map((value) => Tensor.of(value)),
  );
}
