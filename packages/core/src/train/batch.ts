import type { Handle, RunInput } from "../backend.js";
import { MpError } from "../errors.js";
import type { ValueType } from "../graph/graph.js";
import { isHostTensor } from "../host-tensor.js";
import { formatShape } from "../shape.js";
import { leavesOf, mapTree } from "../tree.js";
import { fedName, type TypeTree } from "./program.js";

/** A tree of data as a backend takes it, with the types that decide which program runs. */
export interface FedBatch {
  readonly types: TypeTree;
  readonly inputs: Readonly<Record<string, RunInput>>;
  /** Equal for batches that the same program serves. */
  readonly signature: string;
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

/**
 * @throws MP_INVALID_ARGUMENT for a leaf that is no tensor or holds no elements, naming its path
 */
export function feedBatch(batch: unknown, name = "batch"): FedBatch {
  const inputs: Record<string, RunInput> = {};
  let signature = "";
  for (const [path, leaf] of leavesOf(batch, isRunInput, name)) {
    const place = fedName(name, path);
    if (leaf.shape.includes(0)) {
      throw new MpError(
        "MP_INVALID_ARGUMENT",
        `${place}: holds no elements, its shape is ${formatShape(leaf.shape)}`,
      );
    }
    inputs[place] = leaf;
    signature += `${path}:${leaf.dtype}[${leaf.shape.join()}];`;
  }
  const typeOf = ({ dtype, shape }: RunInput): ValueType => ({ dtype, shape });
  return { types: mapTree(batch, isRunInput, typeOf, name) as unknown as TypeTree, inputs, signature };
}
