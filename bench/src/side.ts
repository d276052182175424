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

/** The name of our own steps in results, where peers have theirs. */
export const OURS = "mp";
export type SideName = typeof OURS | PeerName;

const CHILD = fileURLToPath(new URL("./child.js", import.meta.url));

/** Does one of our jobs in a process of its own. @throws ProcessFailed */
export const askChild = <R>(job: ChildJob, environment?: Readonly<Record<string, string>>): Promise<R> =>
  askProcess<R>(process.execPath, [CHILD, JSON.stringify(job)], environment);

type Asked = Pick<BenchOptions, "choice" | "python">;

/** Times our steps, or those of a peer, in a process of its own. @throws ProcessFailed */
export function ask(
  side: SideName,
  job: StepJob,
  { choice, python }: Asked,
): Promise<StepReport | OwnStepReport> {
  if (side === OURS) return askChild({ kind: "steps", job, choice });
  const { script, job: more } = PEERS[side];
  const path = fileURLToPath(new URL(`../peers/${script}`, import.meta.url));
  return askProcess(python, [path, JSON.stringify({ ...job, ...more, device: choice.device })]);
}
