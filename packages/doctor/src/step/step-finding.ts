import type { Finding } from "../machine/finding.js";
import type { StepAnswer } from "./step-task.js";
import type { StepOutcome } from "./try-step.js";

/** Relative tolerance of the loss, since f16 and bf16 have two or three digits. */
const TOLERANCE = 0.02;

export interface StepRemedies {
  readonly reinstall: string;
  /** Whether it is fine that the device is missing. */
  readonly isOptional: boolean;
}

/** @param about the finding's subject, such as `step on ONNX Runtime (cpu)` */
export function stepFinding(
  about: string,
  outcome: StepOutcome,
  { reinstall, isOptional }: StepRemedies,
): Finding {
  const common = { about, facts: { ...outcome } };
  const problem = (text: string, remedy: string): Finding => ({ ...common, status: "problem", text, remedy });
  switch (outcome.kind) {
    case "made":
      return isRight(outcome)
        ? { ...common, status: "ok", text: describe(outcome) }
        : problem(`made with the loss ${outcome.loss} where ${outcome.expected} is right`, reinstall);
    case "failed":
      if (isOptional && outcome.code === "MP_BACKEND_UNAVAILABLE")
        return { ...common, status: "missing", text: outcome.message };
      return problem(`${outcome.message} [${outcome.code}]`, outcome.install ?? reinstall);
    case "crashed":
      return problem(
        `the process crashed (${outcome.how})${outcome.lastLine && `: ${outcome.lastLine}`}`,
        reinstall,
      );
    case "hung":
      return problem(
        `no answer within ${outcome.seconds} s`,
        "try again on an idle machine with --limit 60; then reinstall the engine",
      );
  }
}

type MadeStep = Extract<StepAnswer, { kind: "made" }>;

const isRight = ({ loss, expected, applied }: MadeStep): boolean =>
  applied && Math.abs(loss - expected) <= TOLERANCE * expected;

function describe({ version, precision, native, seconds }: MadeStep): string {
  const halves = native.length === 0 ? "halves are emulated" : `computes ${native.join(" and ")} natively`;
  return `${version}, ${seconds.toFixed(1)} s with loading; ${halves}, mixed() chooses ${precision}`;
}
