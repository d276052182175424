import type { Backend } from "../backend.js";
import { MpError } from "../errors.js";
import type { ValueType } from "../graph/graph.js";
import { type HostTensor, isHostTensor } from "../host-tensor.js";
import { leavesOf, mapTree } from "../tree.js";
import type { StepDefinition } from "./definition.js";
import { fedName, type TypeTree } from "./program.js";
import { runOnce } from "./program-cache.js";
import { isValueType } from "./state.js";
import { initProgram } from "./step.js";
import type { Outputs } from "./step-outputs.js";

export interface InitialState {
  readonly types: TypeTree;
  /** Values by slot. */
  readonly slots: Outputs;
}

/**
 * The state that a run starts from: masters, optimizer state, scaler and counters are made on the engine.
 * @throws MP_DTYPE_MISMATCH for parameters that are not f32, MP_INVALID_ARGUMENT for none at all
 */
export async function initialState(
  backend: Backend,
  definition: StepDefinition,
  given: { readonly parameters: unknown; readonly modelState: unknown },
  windowed: boolean,
): Promise<InitialState> {
  const leaves = leavesOf(given.parameters, isHostTensor, "params");
  if (leaves.length === 0) throw new MpError("MP_INVALID_ARGUMENT", "params: the tree holds no tensors");
  for (const [path, leaf] of leaves) {
    if (leaf.dtype === "f32") continue;
    throw new MpError(
      "MP_DTYPE_MISMATCH",
      `params${path === "" ? "" : ` at ${path}`}: initial parameters are f32, got ${leaf.dtype}`,
    );
  }
  const types = {
    parameters: typesOf(given.parameters, "params"),
    model: typesOf(given.modelState, "modelState"),
  };
  const program = initProgram(definition, types.parameters, types.model, windowed);
  const values = await runOnce(backend, program, {
    ...fed("parameters", given.parameters),
    ...fed("model", given.modelState),
  });
  const stateTypes = program.outputs["state"] ?? {};
  const slots = leavesOf(stateTypes, isValueType, "state").map(
    ([slot]) => [slot, values[fedName("state", slot)] as HostTensor] as const,
  );
  return { types: stateTypes, slots: Object.fromEntries(slots) };
}

const typesOf = (tree: unknown, what: string): TypeTree =>
  mapTree(
    tree,
    isHostTensor,
    ({ dtype, shape }): ValueType => ({ dtype, shape }),
    what,
  ) as unknown as TypeTree;

const fed = (name: string, tree: unknown): Outputs =>
  Object.fromEntries(leavesOf(tree, isHostTensor, name).map(([path, leaf]) => [fedName(name, path), leaf]));
