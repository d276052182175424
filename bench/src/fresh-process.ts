import { spawn } from "node:child_process";

/** The process ended without an answer, or answered that it could not. */
export class ProcessFailed extends Error {
  override readonly name = "ProcessFailed";
}

/** Starts a program, waits for its end and reads the last line of its output as JSON. @throws ProcessFailed */
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
  if (answer === undefined) throw new ProcessFailed(`${command}: ended with ${ended} and no answer`);
  if ("error" in answer) throw new ProcessFailed(String(answer["error"]));
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
