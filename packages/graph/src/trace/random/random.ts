/**
 * Counter-based randomness. A key names a stream; a training step reads the stream at the step's counter, so masks
 * agree on every engine, in recomputed segments, in retried batches and in resumed runs.
 */
import { invalid } from "../../errors.js";
import { checkAttribute } from "../../graph/attribute-kinds-table.js";
import type { GraphBuilder } from "../../graph/build/builder.js";
import { elementCount, type Shape } from "../../shape.js";
import { shown } from "../../shown.js";
import { emit } from "../emit.js";
import { add, div, greaterOrEqual, less, mod, mul, sub, where } from "../ops/binary.js";
import { literal } from "../ops/source.js";
import { cast } from "../ops/unary.js";
import { drawingMask } from "../remat.js";
import { Tensor } from "../tensor.js";
import { asDraw, currentBuilder } from "../trace.js";
import { squaresKey } from "./squares.js";

/** The name of a stream of random numbers. `foldIn` derives new keys; a key is never consumed. */
export interface Key {
  readonly path: string;
}

/** The root of all streams of a run. @throws MP_INVALID_ARGUMENT for a seed that is not a safe integer */
export function key(seed: number): Key {
  if (!Number.isSafeInteger(seed)) throw invalid(`key: a seed must be an integer, got ${shown(seed)}`);
  return { path: String(seed) };
}

/**
 * Derives a stream by name. Streams with different names are independent; a number and its digits as text are
 * different names.
 * @throws MP_INVALID_ARGUMENT for a parent that is not a key: `model.init(42)` instead of `model.init(key(42))`
 */
export function foldIn(parent: Key, name: string | number): Key {
  const path = readPath("foldIn", parent);
  if (typeof name !== "number" && typeof name !== "string") {
    throw invalid(`foldIn: a name must be a string or a number, got ${shown(name)}`);
  }
  return { path: `${path}/${typeof name === "number" ? name : escapeName(name)}` };
}

function readPath(what: string, given: Key): string {
  const { path } = (given ?? {}) as Partial<Key>;
  if (typeof path === "string") return path;
  const example = typeof given === "number" ? `key(${given})` : "key(42)";
  const init = what === "foldIn" ? `; a model's init takes one: model.init(${example})` : "";
  throw invalid(`${what}: takes a key such as ${example}, got ${shown(given)}${init}`);
}

/** Escapes a name so that it differs from every number, path and other name; ordinary names stay as they are. */
function escapeName(name: string): string {
  const plain = name.replace(/[%/@]/g, encodeURIComponent);
  return String(Number(name)) === name ? `%${plain}` : plain;
}

interface RandomState {
  readonly drawn: Tensor;
  readonly calls: Map<string, number>;
}

const states = new WeakMap<GraphBuilder, RandomState>();

/**
 * Sets the position at which this trace and the traces nested in it read their random streams: `drawn`, the number of
 * microbatches until now (i32 scalar).
 */
export function setRandomCounter(drawn: Tensor): void {
  states.set(currentBuilder("setRandomCounter"), { drawn, calls: new Map() });
}

function randomState(builder: GraphBuilder): RandomState {
  for (let at: GraphBuilder | undefined = builder; at !== undefined; at = at.parent) {
    const state = states.get(at);
    if (state !== undefined) return state;
  }
  const state = { drawn: literal(0, "i32"), calls: new Map<string, number>() };
  states.set(builder, state);
  return state;
}

/**
 * Random i32; each of the 32 bits is random. The stream is named by key, scope path and the number of earlier calls
 * with that key and scope.
 */
export function randomBits(source: Key, shape: Shape): Tensor {
  const builder = currentBuilder("randomBits");
  checkAttribute("randomBits", "shape", shape);
  elementCount(shape, "randomBits");
  const state = randomState(builder);
  const callSite = `${readPath("randomBits", source)}@${builder.origin.scope}`;
  const call = state.calls.get(callSite) ?? 0;
  state.calls.set(callSite, call + 1);
  const drawn = Tensor.of(Tensor.valueIn(state.drawn, builder, "randomBits"));
  return emit("RandomBits", [drawn], { key: squaresKey(`${callSite}#${call}`), shape: [...shape] });
}

/** Random i32 from 0 to 2^24 - 1, which f32 holds too: the top 24 bits of `randomBits`. */
function random24Bits(source: Key, shape: Shape): Tensor {
  const bits = randomBits(source, shape);
  const top = div(sub(bits, mod(bits, 256)), 256);
  return where(less(top, 0), add(top, 2 ** 24), top);
}

/**
 * Uniform in [0, 1), f32, with the same bits on every engine and under every casting policy: multiples of 2^-24. In f16
 * or bf16 the largest of them round to 1, so compare and compute in f32 before you `cast`.
 */
export function randomUniform(source: Key, shape: Shape): Tensor {
  return asDraw(() => mul(cast(random24Bits(source, shape), "f32"), 2 ** -24));
}

/** Bools that are true with the given probability, at a resolution of 2^-24. */
export function randomBernoulli(source: Key, probability: number, shape: Shape): Tensor {
  if (!(typeof probability === "number" && probability >= 0 && probability <= 1)) {
    throw invalid(`randomBernoulli: a probability must be from 0 to 1, got ${shown(probability)}`);
  }
  const least = Math.ceil(Math.fround(1 - probability) * 2 ** 24);
  return drawingMask(() => greaterOrEqual(random24Bits(source, shape), least));
}
