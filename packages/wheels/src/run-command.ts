import { spawn } from "node:child_process";

export interface CommandResult {
  /** Exit status; null if a signal or the time limit ended the program. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Whether to copy the program's standard output, such as a progress bar, to our standard error. */
  readonly showOutput?: boolean;
  readonly timeoutMs?: number;
}

/** Runs a program to its end. @throws the system's error if it cannot be started */
export function runCommand(
  program: string,
  args: readonly string[],
  { cwd, env = process.env, showOutput = false, timeoutMs = 0 }: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...env },
      stdio: ["ignore", showOutput ? 2 : "pipe", "pipe"],
      timeout: timeoutMs,
      killSignal: "SIGKILL",
    });
    let stdout = "";
    let stderr = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, stdout, stderr }));
  });
}
