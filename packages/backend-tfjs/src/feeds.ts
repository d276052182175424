import { MpError, type RunInput } from "@mp/core";
import { expectHostTensor, expectType, type HandleTable } from "@mp/core/backend";
import type { Edge } from "./graph/program.js";
import type { TfjsBinding } from "./load/index.js";
import { wireTensor } from "./session/wire-tensor.js";
import type { Uploaded } from "./uploaded.js";

type Inputs = Readonly<Record<string, RunInput>>;

/** The tensors of one run, in the order of the program's inputs; `release` when they have been fed. */
export interface Feed {
  readonly ids: readonly number[];
  release(): void;
}

/**
 * Checks every input, then takes what the caller's arrays and handles hold now.
 * @throws MP_INVALID_ARGUMENT, MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH, MP_DISPOSED
 */
export function takeInputs(
  inputs: Inputs,
  edges: readonly Edge[],
  stateInputs: ReadonlyMap<string, string>,
  handles: HandleTable<Uploaded>,
  binding: TfjsBinding,
): Feed {
  checkNames(inputs, edges, stateInputs);
  const ids: number[] = [];
  const releases: (() => void)[] = [];
  const release = (): void => {
    for (const each of releases.splice(0)) each();
  };
  try {
    for (const edge of edges) {
      const input = Object.hasOwn(inputs, edge.name) ? inputs[edge.name] : undefined;
      if (input === undefined) throw invalid(`input "${edge.name}" is missing`);
      const what = `run: input "${edge.name}"`;
      const borrowed = handles.borrow(input);
      if (borrowed !== undefined) {
        releases.push(borrowed.giveBack);
        expectType(what, borrowed.tensor, edge.type);
        const { wire } = borrowed.tensor;
        if (wire !== undefined) ids.push(wire.id);
        continue;
      }
      const value = expectHostTensor(what, input);
      expectType(what, value, edge.type);
      if (edge.node === undefined) continue;
      const wire = wireTensor(binding, value);
      releases.push(() => wire.release());
      ids.push(wire.id);
    }
  } catch (error) {
    release();
    throw error;
  }
  return { ids, release };
}

function checkNames(inputs: Inputs, edges: readonly Edge[], stateInputs: ReadonlyMap<string, string>): void {
  const known = new Set(edges.map(({ name }) => name));
  for (const name of Object.keys(inputs)) {
    if (known.has(name)) continue;
    if (stateInputs.has(name)) throw invalid(`input "${name}" comes from the state, leave it out`);
    throw invalid(`there is no input "${name}", the graph takes ${[...known].join(", ") || "none"}`);
  }
}

function invalid(message: string): MpError<"MP_INVALID_ARGUMENT"> {
  return new MpError("MP_INVALID_ARGUMENT", `run: ${message}`);
}
