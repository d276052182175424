import { MpError } from "../../errors.js";
import { checkOptions, type OptionNames } from "../../options.js";
import { isPlainObject } from "../../plain-object.js";
import type { LossScaler } from "../../precision/loss-scaler.js";
import type { Precision } from "../../precision/presets.js";
import { shown } from "../../shown.js";
import { scaleRange } from "../step/scale.js";

type Parts = Readonly<Record<string, unknown>>;

/** What each part of a trainer must have at least, and how one is made: types do not hold in JavaScript. */
const PARTS: readonly (readonly [option: string, functions: readonly string[], remedy: string])[] = [
  ["backend", ["compile", "createState"], "await the factory: backend: await ort()"],
  ["optimizer", ["init", "update"], "make one: optimizer: adamW({ learningRate: 1e-3 })"],
];
const PRECISION: typeof PARTS = [
  ["policy", [], 'make one: policy: castingPolicy({ compute: "f16" })'],
  ["masterWeights", ["init", "parameters", "apply"], "make one: masterWeights: f32Master()"],
  ["lossScaler", ["init", "scale", "update"], "make one: lossScaler: dynamicLossScale()"],
];

const SIGNAL: typeof PARTS = [
  ["signal", ["throwIfAborted"], "pass that of an AbortController: signal: controller.signal"],
];

/** Options that are asked about or called later, where a wrong one would fail in the middle of training. */
const KINDS: readonly (readonly [option: string, kind: "boolean" | "function"])[] = [
  ["allReduce", "function"],
  ["checkNewParameters", "boolean"],
  ["onWarning", "function"],
];

const isObject = (value: unknown): value is Parts => typeof value === "object" && value !== null;

function check(from: Parts, wanted: typeof PARTS, what: string): void {
  for (const [name, functions, remedy] of wanted) {
    const part = from[name];
    if (isObject(part) && functions.every((each) => typeof part[each] === "function")) continue;
    throw new MpError("MP_INVALID_ARGUMENT", `${what}: ${name} is ${shown(part)}; ${remedy}`);
  }
}

/** By gradients instead of steps, parameters would climb. */
function checkDescends({ name, kind }: Parts): void {
  if (kind === undefined || kind === "descent") return;
  const part = String(name);
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    kind === "gradient"
      ? `trainer: ${part} gives gradients and no steps; put an optimizer behind it: chain(${part}, sgd({ learningRate: 0.1 }))`
      : `trainer: optimizer ${part} has the kind ${shown(kind)}; leave it out, or say "descent"`,
  );
}

/** @throws MP_INVALID_ARGUMENT for what is no function of parameters and data */
export function checkFunction(what: string, value: unknown): void {
  if (typeof value === "function") return;
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `${what}: takes a function of parameters and data, got ${shown(value)}`,
  );
}

/** @throws MP_INVALID_ARGUMENT for a backend not awaited, a factory not called, a name where a value belongs */
export function checkParts(options: unknown): void {
  const given = isObject(options) ? options : {};
  check(given, PARTS, "trainer");
  checkDescends(given["optimizer"] as Parts);
  if (given["signal"] !== undefined) check(given, SIGNAL, "trainer");
  for (const [name, kind] of KINDS) {
    const value = given[name];
    if (value === undefined || typeof value === kind) continue;
    throw new MpError("MP_INVALID_ARGUMENT", `trainer: ${name} is a ${kind}, got ${shown(value)}`);
  }
  const { params } = given;
  if (isObject(params) && typeof params["init"] === "function") {
    const remedy = "make its parameters: params: model.init(key(42))";
    throw new MpError("MP_INVALID_ARGUMENT", `trainer: params is a layer, ${shown(params)}; ${remedy}`);
  }
  if (typeof given["loss"] === "function") return;
  throw new MpError("MP_INVALID_ARGUMENT", `trainer: loss is a function, got ${shown(given["loss"])}`);
}

const PRECISION_NAMES: OptionNames<Precision> = {
  name: true,
  policy: true,
  masterWeights: true,
  lossScaler: true,
  warnings: true,
};

/** @throws MP_INVALID_ARGUMENT for what is no bundle of policy, master weights and loss scaler */
export function checkPrecision(precision: unknown): void {
  const what = "trainer: precision";
  if (!isPlainObject(precision)) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `${what} is ${shown(precision)}; make one: precision: mixed(), mixedFloat16(), float32() …`,
    );
  }
  checkOptions<Partial<Precision>>(what, precision, PRECISION_NAMES);
  const lacks = Object.keys(PRECISION_NAMES).filter(
    (name) => name !== "warnings" && precision[name] === undefined,
  );
  if (lacks.length > 0) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `${what} lacks ${lacks.join(", ")}; mixed() cannot be spread, spread mixedFloat16()`,
    );
  }
  check(precision, PRECISION, what);
}

/** @throws MP_INVALID_ARGUMENT for a scaler that leaves no scale between its smallest and its largest */
export function checkScales(lossScaler: LossScaler): void {
  const { name, minScale, maxScale } = lossScaler;
  const areNumbers = [minScale, maxScale].every((scale) => scale === undefined || typeof scale === "number");
  const { from, to } = scaleRange(lossScaler);
  if (areNumbers && from <= to) return;
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `trainer: loss scaler ${name}: minScale and maxScale are numbers in ascending order, of 2^-126 to 2^126, ` +
      `got ${shown(minScale)} and ${shown(maxScale)}`,
  );
}
