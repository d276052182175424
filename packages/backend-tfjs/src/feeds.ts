import type { HostTensor } from "@mp/core";
import { expectRunInputs, type HandleTable, type RunInput } from "@mp/core/backend";
import type { Edge } from "./graph/program.js";
import type { TfjsBinding } from "./load/index.js";
import { wireTensor } from "./session/wire-tensor.js";
import type { Uploaded } from "./uploaded.js";

type Inputs = Readonly<Record<string, RunInput>>;

/** The tensors of one run, in the order of the program's inputs; call `release` when they have been fed. */
export interface Feed {
  readonly ids: readonly number[];
  release(): void;
}

/**
 * Checks every input, then copies what the caller's arrays and handles hold now.
 * @throws MP_INVALID_ARGUMENT, MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH, MP_DISPOSED
 */
export function takeInputs(
  inputs: Inputs,
  edges: readonly Edge[],
  stateInputs: ReadonlyMap<string, string>,
  handles: HandleTable<Uploaded>,
  binding: TfjsBinding,
): Feed {
  const open = new Map(edges.map((edge) => [edge.name, edge.type]));
  const given = new Map(expectRunInputs(inputs, open, stateInputs, handles));
  const ids: number[] = [];
  const releases: (() => void)[] = [];
  const release = (): void => {
    for (const each of releases.splice(0)) each();
  };
  try {
    for (const edge of edges) {
      const input = given.get(edge.name);
      const borrowed = handles.borrow(input);
      if (borrowed !== undefined) {
        releases.push(borrowed.giveBack);
        const { wire } = borrowed.tensor;
        if (wire !== undefined) ids.push(wire.id);
        continue;
      }
      if (edge.node === undefined) continue;
      const wire = wireTensor(binding, input as HostTensor);
      releases.push(() => wire.release());
      ids.push(wire.id);
    }
  } catch (error) {
    release();
    throw error;
  }
  return { ids, release };
}
