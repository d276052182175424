/** `--memory`: what each technique takes, estimated from the step's graph and measured in processes of their own. */
import { textTable } from "@mp/cli/training";
import type { Measured } from "./measured.js";

export interface MemoryRow {
  readonly technique: string;
  readonly measured: Measured;
  /** Bytes of tensors at the measured peak: for a process, less what it takes besides. */
  readonly tensors: number;
}

/**
 * Memory that a process takes besides tensors: what it was measured to take, less what was planned for its tensors.
 */
export const besideTensors = ({ peak, planned }: Measured): number => peak.bytes - planned.peak;

const MIB = 2 ** 20;
const mib = (bytes: number): string => (bytes / MIB).toFixed(bytes < 10 * MIB ? 1 : 0);

/** One line per technique, in MiB. */
export function formatMemory(rows: readonly MemoryRow[]): string {
  const header = [
    "MiB",
    "weights",
    "halves of them",
    "gradients",
    "optimizer",
    "activations",
    "estimated peak",
    "measured",
    "off",
    "ms per step",
  ];
  const lines = rows.map(({ technique, measured, tensors }) => {
    const { kinds, peak } = measured.planned;
    return [
      `${measured.precision}${technique}`,
      ...[kinds.masters, kinds.halfWeights, kinds.gradients, kinds.optimizer, kinds.activations].map(mib),
      mib(peak),
      mib(tensors),
      signedPercent(peak / tensors - 1),
      measured.msPerStep.toFixed(0),
    ];
  });
  return textTable(header, lines);
}

const signedPercent = (share: number): string => `${share < 0 ? "" : "+"}${(100 * share).toFixed(1)} %`;
