import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { MpError } from "@mp/core";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { CUDA_NEEDS, nvidiaFinding } from "../engines/cuda.js";
import { ENGINE_NAMES, ENGINES, type StepDevice } from "../engines/engine-table.js";
import {
  engineFinding,
  type FoundEngine,
  findEngine,
  isComplete,
  nodeProblems,
} from "../engines/find-engine.js";
import { entryUrl, findPackage, type InstalledPackage } from "../engines/installed-package.js";
import type { Finding } from "../machine/finding.js";
import { nodeFinding } from "../machine/node-version.js";
import { describeNvidia, type Nvidia } from "../machine/nvidia.js";
import { processorFinding, systemFinding } from "../machine/processor.js";
import { stepFinding } from "../step/step-finding.js";
import type { StepTask } from "../step/step-task.js";
import { type StepOutcome, tryStep } from "../step/try-step.js";

export interface DiagnoseOptions {
  /** The folder of your program, in which packages are looked up. Default: the working directory. */
  readonly folder?: string;
  /** Time limit of each step, in milliseconds. Default 15 000; all steps run at the same time. */
  readonly limitMs?: number;
}

/** The findings of `diagnose`, and whether all is well. */
export interface Diagnosis {
  /** Whether an engine makes a training step and no installed part is broken. */
  readonly healthy: boolean;
  readonly findings: readonly Finding[];
}

const HERE = dirname(fileURLToPath(import.meta.url));
const DEFAULT_LIMIT_MS = 15_000;
const OPTIONS = {
  folder: checks.optional(checks.path),
  limitMs: withDefault(
    DEFAULT_LIMIT_MS,
    checks.claim(
      "a number of milliseconds above 0, up to an hour",
      (given) => typeof given === "number" && given > 0 && given <= 3_600_000,
    ),
  ),
};

/**
 * Reports what this machine has for training and what it lacks. Tries a training step on each installed engine, each in a
 * process of its own. Changes nothing.
 * @throws MP_INVALID_ARGUMENT for options out of range, MP_IO for a working directory that was removed
 * @example
 * ```ts
 * const { healthy, findings } = await diagnose();
 * ```
 */
export async function diagnose(options: DiagnoseOptions = {}): Promise<Diagnosis> {
  const { folder: given, limitMs } = readOptions("diagnose", options, OPTIONS, {
    example: "{ limitMs: 60_000 }",
  });
  const folder = given ?? workingFolder();
  const engines = ENGINE_NAMES.map((name) => findEngine(name, folder));
  const nvidia = await describeNvidia();
  const core = findPackage("@mp/core", [folder, HERE]);
  const trials = await Promise.all(
    [...referenceTrial(core), ...engines.flatMap((engine) => engineTrials(engine, nvidia, core))].map(
      async (trial) => ({ ...trial, outcome: await tryStep(trial.task, { folder, limitMs }) }),
    ),
  );
  const steps = trials.map(({ about, outcome, reinstall, isOptional }) =>
    stepFinding(about, outcome, { reinstall, isOptional }),
  );
  const { node } = process.versions;
  const findings = [
    nodeFinding(node),
    systemFinding(),
    processorFinding(),
    ...engines.flatMap((engine) => [engineFinding(engine), ...nodeProblems(engine, node)]),
    nvidiaFinding(nvidia),
    ...engines.flatMap(
      (engine) => CUDA_NEEDS[engine.name](engine, nvidia, engineVersion(trials, engine)) ?? [],
    ),
    ...steps,
  ];
  const works = steps.some(({ status }, i) => status === "ok" && trials[i]?.task.engine !== "reference");
  const isBroken = findings.some(({ status }) => status === "problem");
  return { healthy: works && !isBroken, findings };
}

function workingFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new MpError("MP_IO", "diagnose: the working directory was removed; go to one that is there", {
      cause,
    });
  }
}

interface Trial {
  readonly about: string;
  readonly task: StepTask;
  readonly reinstall: string;
  readonly isOptional: boolean;
}

function referenceTrial(core: InstalledPackage | undefined): readonly Trial[] {
  if (core === undefined) return [];
  const [coreUrl, entry] = [entryUrl("@mp/core", core.folder), entryUrl("@mp/core/reference", core.folder)];
  if (coreUrl === undefined || entry === undefined) return [];
  const task = { engine: "reference", device: "cpu", entry, core: coreUrl } as const;
  return [{ about: "step on the reference", task, reinstall: "npm install @mp/core", isOptional: false }];
}

function engineTrials(
  found: FoundEngine,
  nvidia: Nvidia,
  installed: InstalledPackage | undefined,
): readonly Trial[] {
  const { name, backend, libraries } = found;
  if (backend === undefined || installed === undefined || !isComplete(found)) return [];
  const { title, install, cudaLibrary, devices, optional } = ENGINES[name];
  const [entry, core] = [entryUrl(backend.name, backend.folder), entryUrl("@mp/core", installed.folder)];
  if (entry === undefined || core === undefined) return [];
  const hasCuda =
    nvidia.devices.length > 0 &&
    libraries.some((library) => library.name === cudaLibrary) &&
    CUDA_NEEDS[name](found, nvidia, undefined)?.status !== "missing";
  const tried: readonly StepDevice[] = hasCuda ? [...devices, "cuda"] : devices;
  return tried.map((device) => ({
    about: `step on ${title} (${device})`,
    task: { engine: name, device, entry, core },
    reinstall: install(process.platform),
    isOptional: optional.includes(device),
  }));
}

function engineVersion(
  trials: readonly { readonly task: StepTask; readonly outcome: StepOutcome }[],
  { name }: FoundEngine,
): string | undefined {
  const outcome = trials.find(({ task }) => task.engine === name)?.outcome;
  return outcome?.kind === "made" ? outcome.version : undefined;
}
