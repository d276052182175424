/** The table of `--memory`: each technique's memory, estimated from the step's graph and measured in its own process. */
import { columnTable } from "@mp/cli/training";
import type { Measured } from "./measure.js";

export interface MemoryRow {
  readonly technique: string;
  readonly measured: Measured;
  /** Bytes of tensors at the measured peak; a process's peak is reduced by its memory besides tensors. */
  readonly tensors: number;
}

/** Memory of a process besides its tensors: its measured peak minus the planned peak of its tensors. */
export const besideTensors = ({ peak, planned }: Measured): number => peak.bytes - planned.peak;

const MIB = 2 ** 20;
const mib = (bytes: number): string => (bytes / MIB).toFixed(bytes < 10 * MIB ? 1 : 0);

/** One line per technique, in MiB. */
export function formatMemory(rows: readonly MemoryRow[]): string {
  return columnTable(rows, {
    MiB: ({ technique, measured }) => `${measured.precision}${technique}`,
    weights: ({ measured }) => mib(measured.planned.kinds.masters),
    "halves of them": ({ measured }) => mib(measured.planned.kinds.halfWeights),
    gradients: ({ measured }) => mib(measured.planned.kinds.gradients),
    optimizer: ({ measured }) => mib(measured.planned.kinds.optimizer),
    activations: ({ measured }) => mib(measured.planned.kinds.activations),
    "estimated peak": ({ measured }) => mib(measured.planned.peak),
    measured: ({ tensors }) => mib(tensors),
    off: ({ measured, tensors }) => percentWithSign(measured.planned.peak / tensors - 1),
    "ms per step": ({ measured }) => measured.msPerStep.toFixed(0),
  });
}

const percentWithSign = (share: number): string => `${share < 0 ? "" : "+"}${(100 * share).toFixed(1)} %`;
