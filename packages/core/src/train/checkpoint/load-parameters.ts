import { type HostArrays, isFloat } from "../../dtype.js";
import { decodeArray } from "../../float-format/bits.js";
import { formatType } from "../../graph/format-type.js";
import { type HostTensor, isHostTensor, tensor } from "../../host-tensor.js";
import { checkOptions } from "../../options.js";
import { mapTree } from "../../tree.js";
import { DAMAGED, listed, type OpenCheckpoint, openCheckpoint } from "./checkpoint.js";
import { fromBytes, fromFile } from "./place.js";
import { nonFiniteProblem } from "./restored-state.js";
import { OBJECTIVES } from "./settings.js";

/** Trees as the trainer takes them, made by `init` and `initState` of the file's model. */
export interface ModelTrees {
  readonly params: object;
  readonly modelState?: object;
}

/** Where the weights are in files that do not say so: those written before `weightsAt`. */
const WEIGHTS_AT_ONCE: Readonly<Partial<Record<string, string>>> = {
  "kahan(f16)": "value",
  "kahan(bf16)": "value",
};

/**
 * Loads parameters from a training checkpoint, given by its path or its bytes, and model state if requested, as new
 * values of the trees in `like`; parameters are f32 for any storage dtype. It ignores seed, optimizer and precision of
 * the run that wrote it, and entries that are not in `like`. Use it to start fine-tuning.
 * @throws MP_IO, MP_PARSE; MP_CHECKPOINT_MISMATCH naming what is missing, of another shape or not finite
 */
export async function loadParameters<L extends ModelTrees>(from: string | Uint8Array, like: L): Promise<L> {
  checkOptions<ModelTrees>(
    "loadParameters",
    like,
    { params: true, modelState: true },
    "{ params: model.init(key(0)) }",
  );
  const source =
    typeof from === "object" ? fromBytes("loadParameters", from) : fromFile("loadParameters", from);
  const { tensors, metadata, refuse } = await openCheckpoint(source);
  const weightsAt = metadata["weightsAt"] ?? WEIGHTS_AT_ONCE[metadata["masterWeights"] ?? ""];
  const masters = objectivesIn(metadata, refuse).map((name) =>
    ["master", name, weightsAt].filter((part) => part !== undefined).join("/"),
  );
  const misfits: string[] = [];
  const problems: string[] = [];
  const taken = (tree: object, what: string, keptAt: (place: string) => HostTensor | undefined): unknown =>
    mapTree(
      tree,
      isHostTensor,
      (leaf, place) => {
        const found = keptAt(place);
        if (found === undefined) misfits.push(`${what}/${place} is missing`);
        else if (formatType(found) !== formatType(leaf))
          misfits.push(`${what}/${place} is ${formatType(found)} instead of ${formatType(leaf)}`);
        else {
          const problem = nonFiniteProblem(`${what}/${place}`, found);
          if (problem !== undefined) problems.push(problem);
        }
        return found ?? leaf;
      },
      what,
    );
  const slot = (group: string, place: string): HostTensor | undefined =>
    tensors[place === "" ? group : `${group}/${place}`];
  const parameter = (place: string): HostTensor | undefined => {
    const [kept] = [...masters, "frozen"].flatMap((group) => slot(group, place) ?? []);
    return kept === undefined ? undefined : inF32(kept);
  };
  const { params, modelState } = like;
  const loaded = {
    params: taken(params, "params", parameter),
    ...(modelState === undefined
      ? {}
      : { modelState: taken(modelState, "modelState", (place) => slot("model", place)) }),
  };
  if (misfits.length > 0) refuse(`does not fit: ${listed(misfits)}`);
  if (problems.length > 0) refuse(`${listed(problems)}; ${DAMAGED}`);
  return loaded as L;
}

/** The names of the objectives of the run that wrote the file; undefined for the one of a single loss. */
function objectivesIn(
  { [OBJECTIVES]: text }: OpenCheckpoint["metadata"],
  refuse: OpenCheckpoint["refuse"],
): readonly (string | undefined)[] {
  if (text === undefined) return [undefined];
  try {
    const names: unknown = JSON.parse(text);
    if (Array.isArray(names)) return names.map(String);
  } catch {}
  return refuse(`its objectives are ${text} instead of a list of names; ${DAMAGED}`);
}

function inF32(kept: HostTensor): HostTensor {
  if (!isFloat(kept.dtype)) return kept;
  return tensor(decodeArray(kept.dtype, kept.data as HostArrays[typeof kept.dtype]), kept.shape);
}
