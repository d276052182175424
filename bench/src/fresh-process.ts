import { spawn } from "node:child_process";

export const OUT_OF_MEMORY = "MP_OUT_OF_MEMORY";

/** The process ended without an answer, or answered with an error. */
export class ProcessFailed extends Error {
  override readonly name = "ProcessFailed";
  /** The answer's code; `MP_OUT_OF_MEMORY` also where the system killed the process. */
  readonly code: string | undefined;

  constructor(message: string, code?: string) {
    super(message);
    this.code = code;
  }
}

/** Starts a program, waits for its end and reads its last line of output in JSON. @throws ProcessFailed */
export async function askProcess<R>(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<R> {
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...environment },
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const ended = await new Promise<string>((resolve, reject) => {
    child.on("error", (error) => reject(new ProcessFailed(`${command}: ${error.message}`)));
    child.on("close", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const answer = lastJson(output);
  if (answer === undefined) {
    // Linux ends a process that takes the last of the memory.
    const code = ended === "SIGKILL" ? OUT_OF_MEMORY : undefined;
    throw new ProcessFailed(`${command}: ended with ${ended} and no answer`, code);
  }
  const { error, code } = answer;
  if (error !== undefined)
    throw new ProcessFailed(String(error), typeof code === "string" ? code : undefined);
  return answer as R;
}

function lastJson(output: string): Record<string, unknown> | undefined {
  for (const line of output.trimEnd().split("\n").reverse()) {
    if (!line.startsWith("{")) continue;
    try {
      return JSON.parse(line) as Record<string, unknown>;
    } catch {
      // A log line that begins like an answer.
    }
  }
  return undefined;
}
