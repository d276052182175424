import { MpError, tensor } from "@mp/graph";
import { LARGEST_COUNTER } from "../../../precision/loss-scaler.js";
import type { Outputs } from "../../definition/outputs.js";
import { ALONE, type RankPlace } from "../../definition/rank-place.js";
import type { CheckpointSource } from "./place.js";
import { type OwnCheckpoint, ownPart } from "./rank-parts.js";

/** The format's version, incremented when a file of the earlier format could be misread. */
export const FORMAT = "mp.training/1";
/** The format of files with optional parts of the state: settable rates, an average of the weights. */
export const OPTIONAL_FORMAT = "mp.training/2";

/** A checkpoint's content as one process reads it; `refuse` throws the error for a problem with the content. */
export interface OpenCheckpoint extends OwnCheckpoint {
  refuse(message: string): never;
}

/** @throws MP_IO, MP_PARSE; MP_CHECKPOINT_MISMATCH for a file that is not a checkpoint of a training run */
export async function openCheckpoint(
  { name, details, read }: CheckpointSource,
  place: RankPlace = ALONE,
): Promise<OpenCheckpoint> {
  const content = await read();
  const refuse = (message: string): never => {
    throw new MpError("MP_CHECKPOINT_MISMATCH", `${name}: ${message}; nothing was loaded`, { details });
  };
  const { format = "not given" } = content.metadata;
  if (format !== FORMAT && format !== OPTIONAL_FORMAT) {
    refuse(
      `is no training checkpoint of this version, its format is ${format} instead of ${FORMAT} or ${OPTIONAL_FORMAT}`,
    );
  }
  const own = ownPart(content, place, refuse);
  return { ...own, tensors: { ...own.tensors, ...shortCounters(own.tensors, refuse) }, refuse };
}

/** Converts counters that earlier versions wrote as i64 to i32. */
function shortCounters(tensors: Outputs, refuse: (message: string) => never): Outputs {
  const wide = ["iteration", "drawn"].flatMap((slot) => {
    const counter = Object.hasOwn(tensors, slot) ? tensors[slot] : undefined;
    return counter?.dtype === "i64" ? [[slot, counter] as const] : [];
  });
  return Object.fromEntries(
    wide.map(([slot, { data, shape }]) => {
      const beyond = Array.from(data, Number).find((count) => Math.abs(count) > LARGEST_COUNTER);
      if (beyond !== undefined)
        refuse(
          `${slot} is ${beyond}, and must be from 0 to ${LARGEST_COUNTER}; loadParameters takes its parameters alone`,
        );
      return [slot, tensor(Int32Array.from(data, Number), shape)];
    }),
  );
}

/** The end of messages about values that no run writes. */
export const DAMAGED = "such a run is damaged, load an earlier checkpoint";

/** Joins the first five misfits, and adds how many more there are. */
export function listMisfits(misfits: readonly string[]): string {
  const more = misfits.length > 5 ? `; and ${misfits.length - 5} more` : "";
  return `${misfits.slice(0, 5).join("; ")}${more}`;
}
