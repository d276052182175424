/**
 * Places each objective's training state in the state of its run. A trainer with a single loss has one objective
 * without a name, whose state is the run's. Named objectives keep their parts under their names, `master/d/…` and
 * `scaler/d/…`, and share model state, frozen parameters, `iteration` and `drawn`.
 */
import { foldIn, type Key, MpError, type TensorTree } from "@mp/graph";
import type { MasterWeights } from "../../precision/master-weights.js";
import { mergeFrozen } from "../weights/frozen.js";
import type { StepDefinition } from "./definition.js";
import type { Slot, SlotNames } from "./slot.js";
import { isSlotGroup, type TrainingState } from "./state.js";
import type { TypeTree } from "./traced-program.js";

export type Placed = Pick<StepDefinition, "objective">;
type Groups = { readonly [group: string]: { readonly [name: string]: TensorTree } };

/** Parts of the state that each objective has for itself. */
const OWN = [
  "master",
  "optimizer",
  "ema",
  "applied",
  "recipe",
  "scaler",
  "rates",
  "skipped",
  "consecutiveSkips",
  "retries",
] as const satisfies readonly (keyof TrainingState)[];

/** The parts of the accumulation window that objectives do not share; each objective empties the rest after use. */
const OWN_OF_WINDOW = ["gradients", "amax"] as const;

const mapOwnOfWindow = <T extends Readonly<Record<string, TensorTree>>>(
  window: T,
  map: (part: TensorTree | undefined, name: string) => unknown,
): T => ({
  ...window,
  ...Object.fromEntries(OWN_OF_WINDOW.map((name) => [name, map(window[name], name)])),
});

const isOwnOfWindow = (name: string | undefined): boolean => OWN_OF_WINDOW.some((own) => own === name);

/** Maps the parts of a state and of its accumulation window that objectives own; the other parts stay. */
function mapOwn(tree: Groups, map: (part: unknown, group: string) => unknown): Groups {
  const own = OWN.map((group) => [group, map(tree[group], group)]);
  const { window } = tree;
  return {
    ...tree,
    ...Object.fromEntries(own),
    ...(window && { window: mapOwnOfWindow(window, map) }),
  };
}

type ByObjective<T> = T | { readonly [name: string]: T };

/** The objectives' values by name, or the value itself for an objective without a name. */
export function byObjective<T>(definitions: readonly Placed[], values: readonly T[]): ByObjective<T> {
  const names = definitions[0]?.objective?.all;
  return names === undefined
    ? (values[0] as T)
    : Object.fromEntries(names.map((name, at) => [name, values[at] as T]));
}

/** `step`, or `step of d`: for messages and for the names of programs. */
export function withObjective({ objective }: Placed, what: string): string {
  return objective === undefined ? what : `${what} of ${objective.name}`;
}

/** Adds the name of the objective to an error of its programs. */
export function ofObjective({ objective }: Placed, error: unknown): unknown {
  if (objective === undefined || !MpError.is(error)) return error;
  const { code, message, details } = error;
  return new MpError(code, `objective ${objective.name}: ${message}`, { details, cause: error });
}

/** The objective's stream of randomness, so that two losses of a run draw different numbers. */
export function ownKey({ objective, key }: Pick<StepDefinition, "objective" | "key">): Key {
  return objective === undefined ? key : foldIn(key, objective.name);
}

/** Whether this objective is the last of a step. */
export function isLast({ objective }: Placed): boolean {
  return objective === undefined || objective.all.at(-1) === objective.name;
}

/** The slot of a part that the objective owns: `scaler/d/scale`. */
export function ownSlot({ objective }: Placed, group: string, path = ""): string {
  return [group, objective?.name, path].filter((part) => part !== undefined && part !== "").join("/");
}

/** The types of a part of the state that the objective owns. */
export function stateTypes({ objective }: Placed, state: TypeTree, group: keyof TrainingState): TypeTree {
  const types = (state as Readonly<Record<string, TypeTree>>)[group] ?? {};
  return objective === undefined
    ? types
    : ((types as Readonly<Record<string, TypeTree>>)[objective.name] ?? {});
}

/** Parses a slot's name; undefined if the slot belongs to no group. */
export function readSlot({ objectives, paths }: SlotNames, name: string): Slot | undefined {
  const [group = "", ...rest] = name.split("/");
  if (!isSlotGroup(group)) return undefined;
  const objective = objectives.length > 0 && OWN.some((own) => own === group) ? rest.shift() : undefined;
  const at = rest.findIndex((_, from) => paths.has(rest.slice(from).join("/")));
  const [part, path] = at === -1 ? [rest, undefined] : [rest.slice(0, at), rest.slice(at).join("/")];
  return { group, objective, part, path };
}

/** Whether a slot is the objective's own rather than shared by all. */
export function isOwnSlot({ objective }: Placed, slot: string): boolean {
  if (objective === undefined) return true;
  const [group, name, ofWindow] = slot.split("/");
  if (group === "window" && isOwnOfWindow(name)) return ofWindow === objective.name;
  return !OWN.some((own) => own === group) || name === objective.name;
}

/** Joins the states of the objectives to the state of the run. */
export function joinStates(definitions: readonly Placed[], states: readonly TensorTree[]): TensorTree {
  const trees = states as readonly Groups[];
  const [first] = trees as readonly [Groups];
  if (definitions[0]?.objective === undefined) return first;
  return mapOwn(first, (_part, group) => {
    const parts = trees.map((tree) => (isOwnOfWindow(group) ? tree["window"] : tree)?.[group]);
    return byObjective(definitions, parts);
  });
}

/**
 * The part of the run's state that an objective's programs read: its own parts, the shared parts, and the
 * parts of all objectives in the group that `weights` names.
 */
export function statePart(
  { objective }: Placed,
  types: TypeTree,
  weights: "master" | "ema" = "master",
): TypeTree {
  if (objective === undefined) return types;
  const { name } = objective;
  return mapOwn(types as unknown as Groups, (part, group) =>
    group === weights ? part : { [name]: (part as Groups)[name] },
  ) as unknown as TypeTree;
}

/** The objective's training state; parameters that other objectives train count as frozen. */
export function selectState<S extends TrainingState = TrainingState>(
  { objective, precision }: Placed & { readonly precision: { readonly masterWeights: MasterWeights } },
  tree: TensorTree,
): S {
  if (objective === undefined) return tree as S;
  const { name, all } = objective;
  const groups = tree as Groups;
  const frozen = all
    .filter((other) => other !== name)
    .map((other) => precision.masterWeights.parameters(groups["master"]?.[other] as TensorTree))
    .reduceRight<TensorTree>((rest, part) => mergeFrozen(part, rest), groups["frozen"] ?? {});
  return mapOwn(
    { ...groups, frozen } as Groups,
    (part) => (part as Groups | undefined)?.[name],
  ) as unknown as S;
}

/** The next state of the run. Only the last objective of a step advances `iteration` and `drawn`. */
export function nextState({ objective }: Placed, tree: TensorTree, next: TensorTree): TensorTree {
  if (objective === undefined) return next;
  const { name } = objective;
  const before = tree as Groups;
  const { frozen: _same, iteration, drawn, window, ...rest } = next as Groups;
  const placed = Object.entries(rest).map(([group, value]): [string, TensorTree] =>
    OWN.some((own) => own === group) ? [group, { ...before[group], [name]: value }] : [group, value],
  );
  return {
    ...Object.fromEntries(placed),
    ...(isLast({ objective }) && iteration !== undefined && drawn !== undefined ? { iteration, drawn } : {}),
    ...(window === undefined ? {} : { window: mapOwnOfWindow(window, (part) => ({ [name]: part })) }),
  } as TensorTree;
}
