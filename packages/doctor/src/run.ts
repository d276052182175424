import { COMMAND, HELP, parseCommandLine } from "./command-line.js";
import { diagnose } from "./diagnosis/diagnose.js";
import { inspectFile } from "./inspect/inspect-file.js";
import { visible } from "./print/columns.js";
import { printDiagnosis } from "./print/print-diagnosis.js";
import { printInspection } from "./print/print-inspection.js";

const EXIT_OK = 0;
const EXIT_UNHEALTHY = 1;
const EXIT_REFUSED = 2;

/** Runs the command line: results on stdout, a failure as one line on stderr. @returns the exit code */
export async function run(argv: readonly string[]): Promise<number> {
  const parsed = parseCommandLine(argv);
  switch (parsed.kind) {
    case "help":
      process.stdout.write(HELP);
      return EXIT_OK;
    case "refused":
      process.stderr.write(`${COMMAND}: ${parsed.message}; --help explains\n`);
      return EXIT_REFUSED;
    case "diagnose":
      return withErrors(parsed, async () => {
        const { limitMs, json } = parsed;
        const diagnosis = await diagnose(limitMs === undefined ? {} : { limitMs });
        process.stdout.write(json ? asJson(diagnosis) : printDiagnosis(diagnosis));
        return diagnosis.healthy ? EXIT_OK : EXIT_UNHEALTHY;
      });
    case "inspect":
      return withErrors(parsed, async () => {
        const { file, json, all } = parsed;
        const inspection = await inspectFile(file);
        process.stdout.write(json ? asJson(inspection) : printInspection(inspection, { all }));
        return EXIT_OK;
      });
  }
}

/** Calls `work`, and prints its error if the error has a code; other errors are thrown. @returns the exit code */
async function withErrors(
  { json }: { readonly json: boolean },
  work: () => Promise<number>,
): Promise<number> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    if (code === undefined) throw error;
    if (json) process.stdout.write(asJson({ error: { code, message } }));
    process.stderr.write(`${COMMAND}: ${visible(message)} [${code}]\n`);
    return EXIT_UNHEALTHY;
  }
}

const asJson = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
