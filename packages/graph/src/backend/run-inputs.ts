import type { RunInput } from "../contract/backend.js";
import { MpError } from "../errors.js";
import type { ValueType } from "../graph/graph.js";
import { expectHostTensor, expectNamed, expectType } from "./check-tensor.js";
import type { HandleTable } from "./handle-table.js";

/**
 * Checks a run's inputs, which are handles and host data. Returns them in the order of `open`, the inputs that are
 * not bound to the state.
 * @throws MP_INVALID_ARGUMENT for an unknown or missing name and for a value that is not a tensor, MP_DTYPE_MISMATCH,
 *   MP_SHAPE_MISMATCH; MP_DISPOSED for a disposed handle
 */
export function expectRunInputs(
  inputs: Readonly<Record<string, RunInput>>,
  open: ReadonlyMap<string, ValueType>,
  fromState: { has(input: string): boolean },
  handles: Pick<HandleTable<ValueType>, "find">,
): readonly (readonly [name: string, input: RunInput])[] {
  const given = new Map(expectNamed("run", inputs));
  for (const name of given.keys()) {
    if (fromState.has(name)) throw invalid(`input "${name}" comes from the state, leave it out`);
    if (!open.has(name)) {
      const taken = [...open.keys()].join(", ") || "none";
      throw invalid(`there is no input "${name}", the graph takes ${taken}`);
    }
  }
  return [...open].map(([name, type]) => {
    const input = given.get(name);
    if (input === undefined) throw invalid(`input "${name}" is missing`);
    const what = `run: input "${name}"`;
    const held = handles.find(input);
    const checked = held === undefined ? expectHostTensor(what, input) : input;
    expectType(what, held ?? checked, type);
    return [name, checked] as const;
  });
}

function invalid(message: string): MpError<"MP_INVALID_ARGUMENT"> {
  return new MpError("MP_INVALID_ARGUMENT", `run: ${message}`);
}
