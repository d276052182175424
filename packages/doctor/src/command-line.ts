import { parseArgs } from "node:util";

export const COMMAND = "mp-doctor";

export type ParsedCommandLine =
  | { readonly kind: "diagnose"; readonly json: boolean; readonly limitMs: number | undefined }
  | { readonly kind: "inspect"; readonly file: string; readonly json: boolean; readonly all: boolean }
  | { readonly kind: "help" }
  /** The message is one line, without the command's name. */
  | { readonly kind: "refused"; readonly message: string };

export const HELP = `Usage: npx @mp/doctor [--json] [--limit SECONDS]
       npx @mp/doctor inspect FILE [--all] [--json]

Without a command: what this machine has for training from the current folder and what it lacks, with a training step
on each engine that is installed there, each in a process of its own. Changes nothing, downloads nothing.

inspect: what a checkpoint (or any safetensors file) or an ONNX model holds: tensors, dtypes, shapes, settings.

  --json           the same as JSON on standard output
  --limit SECONDS  how long a step may take (default 15)
  --all            all rows of long lists
  -h, --help       this

Exit status: 0 an engine makes a step and nothing is broken, or the file was read; 1 otherwise; 2 invalid arguments.
`;

const OPTIONS = {
  json: { type: "boolean", default: false },
  all: { type: "boolean", default: false },
  limit: { type: "string" },
  help: { type: "boolean", short: "h", default: false },
} as const;

/** Parses the part of a command line after `node mp-doctor.js`. */
export function parseCommandLine(argv: readonly string[]): ParsedCommandLine {
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });
    const { json, all, limit, help } = values;
    const [command, file, ...rest] = positionals;
    if (help) return { kind: "help" };
    if (command === undefined) {
      if (all) return refuse("--all belongs to inspect FILE");
      if (limit === undefined) return { kind: "diagnose", json, limitMs: undefined };
      const seconds = Number(limit);
      if (seconds >= 1 && seconds <= 3600) return { kind: "diagnose", json, limitMs: seconds * 1000 };
      return refuse(`--limit takes seconds from 1 to 3600, got "${limit}"`);
    }
    if (command !== "inspect") return refuse(`unknown command "${command}", the only one is inspect FILE`);
    if (file === undefined || rest.length > 0) return refuse("inspect takes one file");
    if (limit !== undefined) return refuse("--limit belongs to the command without inspect");
    return { kind: "inspect", file, json, all };
  } catch (error) {
    return refuse((error as Error).message.split(". ")[0] ?? "");
  }
}

const refuse = (message: string): ParsedCommandLine => ({ kind: "refused", message });
