import { BOTTLENECK_NET_SIZES, bottleneckNet } from "./bottleneck-net.js";
import { ENCODER_SIZES, encoder } from "./encoder.js";
import { MLP_SIZES, mlp } from "./mlp.js";
import { RESIDUAL_NET_SIZES, residualNet } from "./residual-net.js";
import { WORD_MODEL_SIZES, wordModel } from "./word-model.js";
import type { Workload } from "./workload.js";

/** A workload's sizes. Sizes that are one number may be chosen on the command line. */
export type Sizes = Readonly<Record<string, number | readonly number[]>>;

interface Kind {
  readonly sizes: Sizes;
  readonly make: (sizes: Sizes) => Workload;
}

const kind = <S extends object>(sizes: S, make: (sizes: S) => Workload): Kind => ({
  sizes: sizes as unknown as Sizes,
  make: (given) => make(given as unknown as S),
});

export const WORKLOADS = ["w1", "w2", "w2-by-step", "w2-by-gate", "w3", "w4", "w4-attention", "w5"] as const;
export type WorkloadName = (typeof WORKLOADS)[number];

const kinds: Readonly<Record<WorkloadName, Kind>> = {
  w1: kind(MLP_SIZES, mlp),
  w2: kind(WORD_MODEL_SIZES, (sizes) => wordModel(sizes)),
  "w2-by-step": kind(WORD_MODEL_SIZES, (sizes) => wordModel(sizes, "by step")),
  "w2-by-gate": kind(WORD_MODEL_SIZES, (sizes) => wordModel(sizes, "by gate")),
  w3: kind(RESIDUAL_NET_SIZES, residualNet),
  w4: kind(ENCODER_SIZES, (sizes) => encoder(sizes)),
  "w4-attention": kind(ENCODER_SIZES, (sizes) => encoder(sizes, true)),
  w5: kind(BOTTLENECK_NET_SIZES, bottleneckNet),
};

/** A workload at certain sizes. */
export interface SizedWorkload {
  readonly workload: WorkloadName;
  /** All sizes of the workload. Peers are given the sizes with their job, so that they are defined only once. */
  readonly sizes: Sizes;
}

/** Draws data and initial weights. */
export const makeWorkload = ({ workload, sizes }: SizedWorkload): Workload => kinds[workload].make(sizes);

export const usualSizes = (workload: WorkloadName): SizedWorkload => ({
  workload,
  sizes: kinds[workload].sizes,
});

/**
 * Reads `w2` or `w2:cells=1024,batch=128`; undefined if no workload has the name.
 * @throws RangeError for a size that the workload does not have, or that is not an integer of 1 or more
 */
export function readWorkload(word: string): SizedWorkload | undefined {
  const [name = "", ...rest] = word.split(":");
  const workload = WORKLOADS.find((known) => known === name);
  if (workload === undefined) return undefined;
  const { sizes } = kinds[workload];
  const chosen = rest
    .join(":")
    .split(",")
    .filter(Boolean)
    .map((text) => parseSize(text, sizes, word));
  return { workload, sizes: { ...sizes, ...Object.fromEntries(chosen) } };
}

function parseSize(text: string, sizes: Sizes, word: string): readonly [string, number] {
  const [name = "", value = ""] = text.split("=");
  const free = Object.keys(sizes).filter((key) => typeof sizes[key] === "number");
  if (!free.includes(name)) throw new RangeError(`${word}: its sizes are ${free.join(", ")}, got ${name}`);
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new RangeError(`${word}: ${name} must be an integer ≥ 1, got ${value || "nothing"}`);
  return [name, number];
}

/** The workload's name on the command line, with the sizes that are not its usual ones. */
export function displayName({ workload, sizes }: SizedWorkload): string {
  const usual = kinds[workload].sizes;
  const changed = Object.keys(sizes).filter(
    (key) => sizes[key] !== usual[key] && typeof sizes[key] === "number",
  );
  return changed.length === 0
    ? workload
    : `${workload}:${changed.map((key) => `${key}=${sizes[key]}`).join(",")}`;
}
