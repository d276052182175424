import type { Handle, RunInput } from "../backend.js";
import { MpError } from "../errors.js";
import { formatType } from "../graph/builder.js";
import type { ValueType } from "../graph/graph.js";
import { isHostTensor } from "../host-tensor.js";
import { formatShape } from "../shape.js";
import { DEEPEST_TREE, leavesOf, mapTree } from "../tree.js";
import { fedName, type TypeTree } from "./program.js";

/** A tree of data as a backend takes it, with the types that decide which program runs. */
export interface FedBatch {
  readonly inputs: Readonly<Record<string, RunInput>>;
  /** Equal for batches that the same program serves. */
  readonly signature: string;
  /** Made when asked for: only tracing needs it. */
  readonly types: () => TypeTree;
}

/**
 * Takes a batch apart. This runs at every step, so it does no more than it must: one walk, no types.
 * @throws MP_INVALID_ARGUMENT for a leaf that is no tensor or holds no elements, naming its path
 */
export function feedBatch(batch: unknown, name = "batch"): FedBatch {
  const inputs: Record<string, RunInput> = {};
  let signature = "";
  const walk = (value: unknown, place: string, depth: number): void => {
    if (isRunInput(value)) {
      const { dtype, shape } = value;
      if (shape.includes(0)) {
        throw invalid(`${place}: holds no elements, its shape is ${formatShape(shape)}`);
      }
      inputs[place] = value;
      signature += `${place}:${dtype}[${shape.join()}];`;
      return;
    }
    if (depth > DEEPEST_TREE || isData(value)) throw refusal(batch, value, name, place);
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++)
        walk(value[index], fedName(place, String(index)), depth + 1);
      return;
    }
    if (!isPlainObject(value)) throw refusal(batch, value, name, place);
    for (const key of Object.keys(value).sort()) {
      if (key === "" || key.includes("/")) throw refusal(batch, value, name, place);
      walk(value[key], fedName(place, key), depth + 1);
    }
  };
  walk(batch, name, 0);
  const typeOf = ({ dtype, shape }: RunInput): ValueType => ({ dtype, shape });
  return {
    inputs,
    signature,
    types: () => mapTree(batch, isRunInput, typeOf, name) as unknown as TypeTree,
  };
}

/** What sets a batch apart from one that worked: `batch/x is f32[3, 3] instead of f32[8, 2]`, leaf by leaf. */
export function batchDifferences(before: FedBatch["inputs"], now: FedBatch["inputs"]): readonly string[] {
  const differences: string[] = [];
  for (const [place, leaf] of Object.entries(now)) {
    const known = before[place];
    if (known === undefined) differences.push(`${place} is new`);
    else if (formatType(known) !== formatType(leaf)) {
      differences.push(`${place} is ${formatType(leaf)} instead of ${formatType(known)}`);
    }
  }
  for (const [place, leaf] of Object.entries(before)) {
    if (now[place] === undefined) differences.push(`${place} is missing, it was ${formatType(leaf)}`);
  }
  return differences;
}

function isRunInput(value: unknown): value is RunInput {
  return isHostTensor(value) || isHandle(value);
}

function isHandle(value: unknown): value is Handle {
  if (typeof value !== "object" || value === null) return false;
  const candidate = value as { dtype?: unknown; shape?: unknown; dispose?: unknown };
  return (
    typeof candidate.dtype === "string" &&
    Array.isArray(candidate.shape) &&
    typeof candidate.dispose === "function"
  );
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Numbers that nobody has wrapped as a tensor. */
function isData(value: unknown): value is ArrayBufferView | readonly unknown[] {
  let first: unknown = value;
  for (let depth = 0; Array.isArray(first) && depth < DEEPEST_TREE; depth++) first = first[0];
  return ArrayBuffer.isView(value) || (Array.isArray(value) && isNumber(first));
}

const isNumber = (value: unknown): boolean => typeof value === "number" || typeof value === "bigint";

function refusal(batch: unknown, value: unknown, name: string, place: string): Error {
  if (isNumber(value))
    return invalid(`${place}: is a number; wrap it: tensor(Float32Array.of(${value}), [])`);
  if (value instanceof Float64Array) {
    return invalid(
      `${place}: is a Float64Array and there is no f64 tensor; tensor(Float32Array.from(data), shape) rounds it to f32`,
    );
  }
  if (isData(value)) {
    const kind = Array.isArray(value) ? "an array of numbers" : `a ${value.constructor.name} without a shape`;
    const data = Array.isArray(value) ? "Float32Array.from(numbers)" : "data";
    return invalid(`${place}: is ${kind}; wrap it: tensor(${data}, shape), with Int32Array for indices`);
  }
  try {
    leavesOf(batch, isRunInput, name);
  } catch (error) {
    if (error instanceof Error) return error;
  }
  return new Error(`internal: ${place} was refused for no reason`);
}

const invalid = (message: string): MpError<"MP_INVALID_ARGUMENT"> =>
  new MpError("MP_INVALID_ARGUMENT", message);
