import {
  DTYPES,
  formatShape,
  formatType,
  type Handle,
  type HostTensor,
  isHostTensor,
  leavesOf,
  MpError,
  mapTree,
  type RunInput,
  type ValueType,
} from "@mp/graph";
import { DEEPEST_TREE, type EngineTensor, invalid, isPlainObject } from "@mp/graph/internal";
import { feedName, type TypeTree } from "../definition/traced-program.js";

/** A tree of data in the form that a backend takes, with the types that select the program. */
export interface FlatBatch {
  readonly inputs: Readonly<Record<string, RunInput>>;
  /** Batches with equal signatures run the same program. */
  readonly signature: string;
  /** Computed on demand: only tracing needs the types. */
  readonly types: () => TypeTree;
}

/**
 * Flattens a batch and copies its arrays: the step runs later, and the caller may refill them once the call returns.
 * Does no more than one traversal, without types, because it runs at every step.
 * @throws MP_INVALID_ARGUMENT for a leaf that is not a tensor or has no elements, naming its path
 */
export function feedBatch(batch: unknown, name = "batch", adopt?: Adopt): FlatBatch {
  const inputs: Record<string, RunInput> = {};
  let signature = "";
  let adopted: Map<unknown, RunInput> | undefined;
  const take = (leaf: RunInput, place: string): void => {
    const { dtype, shape } = leaf;
    if (shape.includes(0)) {
      throw invalid(`${place}: holds no elements, its shape is ${formatShape(shape)}`);
    }
    inputs[place] = isHostTensor(leaf) ? copyTensor(leaf) : leaf;
    signature += `${place}:${dtype}[${shape.join()}];`;
  };
  const walk = (value: unknown, place: string, depth: number): void => {
    if (isRunInput(value)) {
      take(value, place);
      return;
    }
    const own = adopt !== undefined && isInstance(value) ? tryAdopt(adopt, value, place) : undefined;
    if (own !== undefined) {
      adopted ??= new Map();
      adopted.set(value, own);
      take(own, place);
      return;
    }
    if (depth > DEEPEST_TREE || isData(value)) throw refusal(batch, value, name, place);
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++)
        walk(value[index], feedName(place, String(index)), depth + 1);
      return;
    }
    if (!isPlainObject(value)) throw refusal(batch, value, name, place);
    for (const key of Object.keys(value).sort()) {
      if (key === "" || key.includes("/")) throw refusal(batch, value, name, place);
      walk(value[key], feedName(place, key), depth + 1);
    }
  };
  walk(batch, name, 0);
  const isLeaf = (value: unknown): value is RunInput => isRunInput(value) || adopted?.has(value) === true;
  const leafType = (leaf: RunInput): ValueType => {
    const { dtype, shape } = adopted?.get(leaf) ?? leaf;
    return { dtype, shape };
  };
  return {
    inputs,
    signature,
    types: () => mapTree(batch, isLeaf, leafType, name) as unknown as TypeTree,
  };
}

const copyTensor = ({ dtype, shape, data }: HostTensor): HostTensor =>
  ({ dtype, shape, data: data.slice() }) as HostTensor;

/** The backend's conversion of leaves that are not tensors of @mp/core. */
export type Adopt = (value: object) => RunInput | undefined;

function tryAdopt(adopt: Adopt, value: object, place: string): RunInput | undefined {
  const own: unknown = adopt(value);
  if (own === undefined || isRunInput(own)) return own;
  throw new MpError("MP_BACKEND_FAILED", `${place}: the backend's adopt gave neither a tensor nor a handle`);
}

/** Whether a value is an instance of a class, and not a plain object, array or typed array. */
function isInstance(value: unknown): value is object {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !ArrayBuffer.isView(value) &&
    !isPlainObject(value)
  );
}

/** Differences to a batch that worked, leaf by leaf: `batch/x is f32[3, 3] instead of f32[8, 2]`. */
export function batchDifferences(before: FlatBatch["inputs"], now: FlatBatch["inputs"]): readonly string[] {
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
  return isDisposable(value) && (DTYPES as readonly string[]).includes(value.dtype);
}

/** Whether a value looks like a tensor of some library: with a dtype, a shape and `dispose`. */
function isDisposable(value: unknown): value is EngineTensor {
  if (typeof value !== "object" || value === null) return false;
  const { dtype, shape, dispose } = value as { dtype?: unknown; shape?: unknown; dispose?: unknown };
  return typeof dtype === "string" && Array.isArray(shape) && typeof dispose === "function";
}

/** Whether a value holds bare numbers: a typed array, or a (nested) array of numbers. */
function isData(value: unknown): value is ArrayBufferView | readonly unknown[] {
  let first: unknown = value;
  for (let depth = 0; Array.isArray(first) && depth < DEEPEST_TREE; depth++) first = first[0];
  return ArrayBuffer.isView(value) || (Array.isArray(value) && isNumber(first));
}

const isNumber = (value: unknown): boolean => typeof value === "number" || typeof value === "bigint";

/** Whether a value is a dataset: one of @mp/data, or an iterable other than an array. */
function isDataset(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { iterate } = value as { readonly iterate?: unknown };
  return typeof iterate === "function" || Symbol.asyncIterator in value || Symbol.iterator in value;
}

function refusal(batch: unknown, value: unknown, name: string, place: string): Error {
  if (isDataset(batch) && !ArrayBuffer.isView(batch)) {
    return invalid(
      `${name}: is a dataset, and this takes one batch; go through it: for await (const batch of dataset)`,
    );
  }
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
  if (isInstance(value) && isDisposable(value)) {
    return invalid(
      `${place}: is a ${value.dtype} ${value.constructor.name} of a library that this backend does not take tensors of; copy its data: tensor(data, shape)`,
    );
  }
  try {
    leavesOf(batch, isRunInput, name);
  } catch (error) {
    if (error instanceof Error) return error;
  }
  return new Error(`internal: ${place} was refused for no reason`);
}
