import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { StepAnswer, StepTask } from "./step-task.js";

/** What became of a step in a process of its own. */
export type StepOutcome =
  | StepAnswer
  | { readonly kind: "crashed"; readonly how: string; readonly lastLine: string }
  | { readonly kind: "hung"; readonly seconds: number };

export interface TryOptions {
  /** The working directory of the child: engines are looked for from there. */
  readonly folder: string;
  readonly limitMs: number;
  /** Default: the built child beside this file. */
  readonly child?: string;
}

const CHILD: string = fileURLToPath(new URL("./step-child.js", import.meta.url));

/** Never rejects: a crash or a hang is an outcome too. */
export function tryStep(
  task: StepTask,
  { folder, limitMs, child = CHILD }: TryOptions,
): Promise<StepOutcome> {
  return new Promise((resolve) => {
    const running = fork(child, [JSON.stringify(task)], {
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    let said = "";
    let answered: StepAnswer | undefined;
    const timer = setTimeout(() => {
      resolve(answered ?? { kind: "hung", seconds: limitMs / 1000 });
      running.kill("SIGKILL");
    }, limitMs);
    const end = (outcome: StepOutcome) => {
      clearTimeout(timer);
      resolve(outcome);
    };
    running.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said = `${said}${text}`.slice(-4000);
    });
    running.on("message", (message) => {
      answered = message as StepAnswer;
    });
    running.on("error", ({ message }) => end({ kind: "crashed", how: message, lastLine: "" }));
    running.on("close", (status, signal) => {
      if (answered !== undefined && signal === null) return end(answered);
      const how = signal === null ? `exit status ${status}` : `signal ${signal}`;
      end({ kind: "crashed", how, lastLine: said.trim().split("\n").at(-1) ?? "" });
    });
  });
}
