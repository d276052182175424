import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { StepAnswer, StepTask } from "./step-task.js";

export type StepOutcome =
  | StepAnswer
  | { readonly kind: "crashed"; readonly how: string; readonly lastLine: string }
  | { readonly kind: "hung"; readonly seconds: number };

export interface TryOptions {
  /** The working directory of the child, from which engines are found. */
  readonly folder: string;
  readonly limitMs: number;
  /** Path of the child's program; default the built child beside this file. */
  readonly child?: string;
}

/** Time limit for the last output of a child that has ended, since the child's own children may hold the pipe open. */
const LAST_WORDS_MS = 1000;

const CHILD: string = fileURLToPath(new URL("./step-child.js", import.meta.url));

/** Makes a step in a child process. Never rejects: a crash or a hang is an outcome. */
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
    const end = (outcome: StepOutcome) => {
      clearTimeout(timer);
      resolve(outcome);
      // The child's own children may hold both pipes open, which would keep this process alive.
      running.stderr?.destroy();
      if (running.connected) running.disconnect();
    };
    const timer = setTimeout(() => {
      running.kill("SIGKILL");
      end(answered ?? { kind: "hung", seconds: limitMs / 1000 });
    }, limitMs);
    running.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said = `${said}${text}`.slice(-4000);
    });
    running.on("message", (message) => {
      if (isAnswer(message)) answered = message;
    });
    running.on("error", ({ message }) => end({ kind: "crashed", how: message, lastLine: "" }));
    const onExit = (status: number | null, signal: NodeJS.Signals | null) => {
      if (answered !== undefined && status === 0) return end(answered);
      const how = signal === null ? `exit status ${status}, without an answer` : `signal ${signal}`;
      end({ kind: "crashed", how, lastLine: lastWords(said) });
    };
    running.on("close", onExit);
    running.on("exit", (...how) =>
      // Output that came while this process did not run is read before `setImmediate`.
      setTimeout(() => setImmediate(onExit, ...how), LAST_WORDS_MS).unref(),
    );
  });
}

/** The last line of output that is not part of a stack trace. */
function lastWords(said: string): string {
  const lines = said.split("\n").filter((line) => !/^\s*$|^\s+at |^Node\.js v/.test(line));
  return lines.at(-1)?.trim() ?? "";
}

/** Distinguishes the answer from messages that an engine sends. */
const isAnswer = (message: unknown): message is StepAnswer => {
  const { kind } = (message ?? {}) as Partial<StepAnswer>;
  return kind === "made" || kind === "failed";
};
