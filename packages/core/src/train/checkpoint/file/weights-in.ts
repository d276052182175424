import { type DType, decodeArray, type HostArrays, type HostTensor, isFloat, tensor } from "@mp/graph";
import { feedName } from "../../definition/traced-program.js";
import { DAMAGED, type OpenCheckpoint } from "./open-checkpoint.js";
import { OBJECTIVES } from "./settings.js";

/** The state entry that holds the weights, by the name of the master weights, for files that lack `weightsAt`. */
const WEIGHTS_AT_ONCE: Readonly<Partial<Record<string, string>>> = {
  "kahan(f16)": "value",
  "kahan(bf16)": "value",
};

/**
 * Makes a function that reads a checkpoint's weight by the path of a trained or frozen parameter; with `average`, the
 * weight's moving average. The function returns the weight as stored if that is the wanted dtype, otherwise in f32.
 * @throws MP_CHECKPOINT_MISMATCH for an average that the file does not hold
 */
export function weightsIn(
  { tensors, metadata, refuse }: OpenCheckpoint,
  average: boolean,
): (path: string, wanted: DType) => HostTensor | undefined {
  if (average && !Object.keys(tensors).some((name) => name.startsWith("ema/")))
    refuse("holds no average of the weights; the trainer that wrote it was made without ema");
  // The average is a tree like the parameters, whatever the master weights are.
  const weightsAt = average
    ? undefined
    : (metadata["weightsAt"] ?? WEIGHTS_AT_ONCE[metadata["masterWeights"] ?? ""]);
  const masters = objectivesIn(metadata, refuse).map((name) =>
    [average ? "ema" : "master", name, weightsAt].filter((part) => part !== undefined).join("/"),
  );
  return (path, wanted) => {
    const [kept] = [...masters, "frozen"].flatMap((group) => tensors[feedName(group, path)] ?? []);
    return kept === undefined || kept.dtype === wanted ? kept : inF32(kept);
  };
}

/** The names of the objectives of the run that wrote the file; `undefined` stands for a single loss. */
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
