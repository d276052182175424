import { type Check, invalid, shown } from "@mp/graph/internal";
import { partWith } from "../../precision/check-precision.js";
import type { LossScaler } from "../../precision/loss-scaler.js";
import { scaleRange } from "../programs/scale.js";

type Parts = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Parts => typeof value === "object" && value !== null;

/** Checks that an option is a backend and not the promise of one. */
export const backendPart: Check = partWith(
  ["compile", "createState"],
  "await the factory: backend: await ort()",
);

const optimizerFunctions = partWith(["init", "update"], "make one: optimizer: adamW({ learningRate: 1e-3 })");

/** Refuses an optimizer factory that was not called, and a transformation, whose updates would increase the loss. */
export const optimizerPart: Check = (what, optimizer) => {
  optimizerFunctions(what, optimizer);
  const { name, kind } = optimizer as Parts;
  if (kind === undefined || kind === "descent") return;
  const part = String(name);
  throw invalid(
    kind === "gradient"
      ? `trainer: ${part} gives gradients and no steps; put an optimizer behind it: chain(${part}, sgd({ learningRate: 0.1 }))`
      : `${what} ${part} has the kind ${shown(kind)}; leave it out, or say "descent"`,
  );
};

export const ranksPart: Check = partWith(
  ["allReduce", "allGather", "broadcast", "barrier", "abort"],
  "await the engine: ranks: await mpi()",
);

/** Checks that an option is the signal of an `AbortController` and not the controller. */
export const signalPart: Check = partWith(
  ["throwIfAborted"],
  "pass that of an AbortController: signal: controller.signal",
);

/** Checks that an option is parameters and not the layer that makes them. Their tree is checked at upload. */
export const parametersPart: Check = (what, params) => {
  if (!isObject(params) || typeof params["init"] !== "function") return;
  const remedy = "make its parameters: params: model.init(key(42))";
  throw invalid(`${what} is a layer, ${shown(params)}; ${remedy}`);
};

/** @throws MP_INVALID_ARGUMENT for a value that is not a function of parameters and data */
export function checkFunction(what: string, value: unknown): void {
  if (typeof value === "function") return;
  throw invalid(`${what}: takes a function of parameters and data, got ${shown(value)}`);
}

/** @throws MP_INVALID_ARGUMENT for a scaler whose `minScale` is above its `maxScale`, or is not a number */
export function checkScales(lossScaler: LossScaler): void {
  const { name, minScale, maxScale } = lossScaler;
  const areNumbers = [minScale, maxScale].every((scale) => scale === undefined || typeof scale === "number");
  const { from, to } = scaleRange(lossScaler);
  if (areNumbers && from <= to) return;
  throw invalid(
    `trainer: loss scaler ${name}: minScale and maxScale are numbers in ascending order, of 2^-126 to 2^126, ` +
      `got ${shown(minScale)} and ${shown(maxScale)}`,
  );
}
