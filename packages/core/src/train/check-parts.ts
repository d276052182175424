import { MpError } from "../errors.js";
import { shown } from "../shown.js";

type Parts = Readonly<Record<string, unknown>>;

/** What each part of a trainer must have at least, and how one is made: types do not hold in JavaScript. */
const PARTS: readonly (readonly [option: string, functions: readonly string[], remedy: string])[] = [
  ["backend", ["compile", "createState"], "await the factory: backend: await ort()"],
  ["optimizer", ["init", "update"], "make one: optimizer: adamW({ learningRate: 1e-3 })"],
];
const PRECISION: typeof PARTS = [
  ["masterWeights", ["init", "parameters", "apply"], "make one: masterWeights: f32Master()"],
  ["lossScaler", ["init", "scale", "update"], "make one: lossScaler: dynamicLossScale()"],
];

const SIGNAL: typeof PARTS = [
  ["signal", ["throwIfAborted"], "pass that of an AbortController: signal: controller.signal"],
];

const isObject = (value: unknown): value is Parts => typeof value === "object" && value !== null;

function check(from: Parts, wanted: typeof PARTS, what: string): void {
  for (const [name, functions, remedy] of wanted) {
    const part = from[name];
    if (isObject(part) && functions.every((each) => typeof part[each] === "function")) continue;
    throw new MpError("MP_INVALID_ARGUMENT", `${what}: ${name} is ${shown(part)}; ${remedy}`);
  }
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
  if (given["signal"] !== undefined) check(given, SIGNAL, "trainer");
  const { params } = given;
  if (isObject(params) && typeof params["init"] === "function") {
    const remedy = "make its parameters: params: model.init(key(42))";
    throw new MpError("MP_INVALID_ARGUMENT", `trainer: params is a layer, ${shown(params)}; ${remedy}`);
  }
  if (typeof given["loss"] === "function") return;
  throw new MpError("MP_INVALID_ARGUMENT", `trainer: loss is a function, got ${shown(given["loss"])}`);
}

/** @throws MP_INVALID_ARGUMENT for what is no bundle of policy, master weights and loss scaler */
export function checkPrecision(precision: unknown): void {
  if (!isObject(precision) || !isObject(precision["policy"])) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `trainer: precision is ${shown(precision)}; make one: precision: mixed(), mixedFloat16(), float32() …`,
    );
  }
  check(precision, PRECISION, "trainer: precision");
}
