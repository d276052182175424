import type { Backend, State } from "../../../contract/backend.js";
import { formatType } from "../../../graph/format-type.js";
import type { HostTensor } from "../../../host/host-tensor.js";
import { leavesOf } from "../../../tree.js";
import type { StepDefinition } from "../../definition/definition.js";
import type { Outputs } from "../../definition/outputs.js";
import { fedName } from "../../definition/program.js";
import { isValueType, slotGroupName } from "../../definition/state.js";
import { type GivenTypes, madeState } from "../../run/initial-state.js";
import { listed, type OpenCheckpoint } from "../file/open-checkpoint.js";
import type { Settings } from "../file/settings.js";
import { weightsIn } from "../file/weights-in.js";
import { type Adapted, adapted } from "./adapted-state.js";

interface Refit {
  readonly given: GivenTypes;
  readonly backend: Backend;
  readonly objectives: readonly StepDefinition[];
  readonly settings: Settings;
}

/**
 * The state that the file has under another mask, other groups or without optional parts, and what to say of it;
 * undefined where it does not fit.
 */
export async function refitted(
  opened: OpenCheckpoint,
  state: State,
  { backend, objectives, settings, given }: Refit,
): Promise<{ readonly tensors: Outputs; readonly told: string } | undefined> {
  const { tensors, metadata } = opened;
  const parameters = leavesOf(given.parameters, isValueType, "params");
  const weightOf = weightsIn(opened, false);
  const weights = parameters.flatMap(([path, type]) => {
    const weight = weightOf(path);
    return weight !== undefined && formatType(weight) === formatType(type)
      ? [[fedName("parameters", path), weight] as const]
      : [];
  });
  if (weights.length < parameters.length) return undefined;
  const fit = adapted({
    types: state.types,
    definitions: objectives,
    paths: parameters.map(([path]) => path),
    tensors,
    isGrouped: hasGroups(settings) || hasGroups(metadata),
  });
  if (fit === undefined) return undefined;
  const model = leavesOf(given.model, isValueType, "model").map(([path]) => fedName("model", path));
  const values = [...weights, ...model.map((slot) => [slot, tensors[slot] as HostTensor] as const)];
  const { slots: fresh } = await madeState(backend, objectives, given, Object.fromEntries(values), false);
  const begun = fit.begun.map((slot) => [slot, fresh[slot] as HostTensor] as const);
  return { tensors: { ...fit.kept, ...Object.fromEntries(begun) }, told: toldOf(fit) };
}

/** Weights keep their values wherever they are, so only the rest is new. */
function toldOf({ begun, dropped }: Adapted): string {
  const isTold = (slot: string): boolean => !["master", "frozen"].includes(slotGroupName(slot));
  const [started, left] = [begun.filter(isTold), dropped.filter(isTold)];
  const parts = [
    started.length === 0 ? "nothing starts new" : `starts new: ${listed(started)}`,
    ...(left.length === 0 ? [] : [`leaves out: ${listed(left)}`]),
  ];
  return `fits after a change of what is trained or kept; weights and all other state continue, ${parts.join("; ")}`;
}

/** Whether an optimizer of these settings is one of groups; `byPath` names itself in its description. */
const hasGroups = (settings: Settings): boolean =>
  Object.entries(settings).some(([name, text]) => name.startsWith("optimizer") && text.includes("byPath("));
