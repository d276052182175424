import { fileURLToPath } from "node:url";
import type { BenchOptions } from "./command-line.js";
import { askProcess } from "./fresh-process.js";
import {
  type ChildJob,
  type OwnStepReport,
  PEERS,
  type PeerName,
  type StepJob,
  type StepReport,
} from "./job.js";

/** The side that is ours. */
export const OURS = "mp";
export type SideName = typeof OURS | PeerName;

const CHILD = fileURLToPath(new URL("./child.js", import.meta.url));

type Asked = Pick<BenchOptions, "choice" | "python">;

/** Times steps of one side in a process of its own. @throws ProcessFailed */
export function ask(
  side: SideName,
  job: StepJob,
  { choice, python }: Asked,
): Promise<StepReport | OwnStepReport> {
  if (side === OURS) {
    const child: ChildJob = { kind: "steps", job, choice };
    return askProcess(process.execPath, [CHILD, JSON.stringify(child)]);
  }
  const { script, job: more } = PEERS[side];
  const path = fileURLToPath(new URL(`../peers/${script}`, import.meta.url));
  return askProcess(python, [path, JSON.stringify({ ...job, ...more, device: choice.device })]);
}
