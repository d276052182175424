import { MpError } from "@mp/graph";
import { type Check, checkOptions, isPlainObject, type OptionNames, shown } from "@mp/graph/internal";
import type { LossScaler } from "../../precision/loss-scaler.js";
import type { Precision } from "../../precision/presets.js";
import { scaleRange } from "../programs/scale.js";

type Parts = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Parts => typeof value === "object" && value !== null;

/** Requires the functions of a part, and says how one is made: types do not hold in JavaScript. */
function partWith(functions: readonly string[], remedy: string): Check {
  return (what, part) => {
    if (isObject(part) && functions.every((each) => typeof part[each] === "function")) return;
    throw new MpError("MP_INVALID_ARGUMENT", `${what} is ${shown(part)}; ${remedy}`);
  };
}

/** A backend that was awaited. */
export const backendPart: Check = partWith(
  ["compile", "createState"],
  "await the factory: backend: await ort()",
);

const optimizerFunctions = partWith(["init", "update"], "make one: optimizer: adamW({ learningRate: 1e-3 })");

/** An optimizer, not its factory, and nothing that gives gradients: by these, parameters would climb. */
export const optimizerPart: Check = (what, optimizer) => {
  optimizerFunctions(what, optimizer);
  const { name, kind } = optimizer as Parts;
  if (kind === undefined || kind === "descent") return;
  const part = String(name);
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    kind === "gradient"
      ? `trainer: ${part} gives gradients and no steps; put an optimizer behind it: chain(${part}, sgd({ learningRate: 0.1 }))`
      : `${what} ${part} has the kind ${shown(kind)}; leave it out, or say "descent"`,
  );
};

export const ranksPart: Check = partWith(
  ["allReduce", "allGather", "broadcast", "barrier", "abort"],
  "await the engine: ranks: await mpi()",
);

/** The signal of an `AbortController`, not the controller. */
export const signalPart: Check = partWith(
  ["throwIfAborted"],
  "pass that of an AbortController: signal: controller.signal",
);

/** Parameters, and not the layer that makes them; their tree is checked when it is uploaded. */
export const parametersPart: Check = (what, params) => {
  if (!isObject(params) || typeof params["init"] !== "function") return;
  const remedy = "make its parameters: params: model.init(key(42))";
  throw new MpError("MP_INVALID_ARGUMENT", `${what} is a layer, ${shown(params)}; ${remedy}`);
};

export const scalerPart: Check = partWith(
  ["init", "scale", "update"],
  "make one: lossScaler: dynamicLossScale()",
);

const PRECISION_PARTS: Readonly<Record<string, Check>> = {
  policy: partWith([], 'make one: policy: castingPolicy({ compute: "f16" })'),
  masterWeights: partWith(["init", "parameters", "apply"], "make one: masterWeights: f32Master()"),
  lossScaler: scalerPart,
};

/** @throws MP_INVALID_ARGUMENT for what is no function of parameters and data */
export function checkFunction(what: string, value: unknown): void {
  if (typeof value === "function") return;
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `${what}: takes a function of parameters and data, got ${shown(value)}`,
  );
}

const PRECISION_NAMES: OptionNames<Precision> = {
  name: true,
  policy: true,
  masterWeights: true,
  lossScaler: true,
  warnings: true,
};

/** @throws MP_INVALID_ARGUMENT for what is no bundle of policy, master weights and loss scaler */
export function checkPrecision(owner: string, precision: unknown): void {
  const what = `${owner}: precision`;
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
  for (const [name, check] of Object.entries(PRECISION_PARTS)) check(`${what}: ${name}`, precision[name]);
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
