import { MpError } from "@mp/graph";
import { runCommand } from "@mp/wheels";
import { LIBRARY_COMMAND, type TfjsPackage } from "./locate-package.js";

/** The result of a child process that loads tfjs-node and multiplies two matrices. */
export interface Verified {
  /** Version that the library reports. */
  readonly tensorFlow: string;
  readonly device: "cpu" | "cuda";
}

const MARK = "mp-libtensorflow:";
const TIMEOUT_MS = 120_000;

/**
 * The child's program as text, since the package may be installed anywhere and this file may be bundled. Arguments:
 * the package's folder, and optionally an addon to load instead of the package's own. The first lines do what
 * `restoreNodeUtil` does.
 */
const PROGRAM = `
const util = require("node:util");
util.isNullOrUndefined ??= (value) => value === null || value === undefined;
util.isArray ??= Array.isArray;
const [folder, addon] = process.argv.slice(1);
const fromPackage = require("node:module").createRequire(folder + "/package.json");
if (addon) fromPackage("@mapbox/node-pre-gyp/lib/pre-binding").find = () => addon;
const tf = fromPackage(folder);
const engine = tf.findBackend("tensorflow");
const product = tf.matMul(tf.tensor2d([[1, 2], [3, 4]]), tf.tensor2d([[5, 6], [7, 8]])).dataSync();
const found = { product: [...product], tensorFlow: engine.binding.TF_Version, gpu: engine.isUsingGpuDevice };
process.stdout.write("\\n${MARK}" + JSON.stringify(found) + "\\n");
`;

/**
 * Loads tfjs-node in a separate process, where an incompatible library does no harm.
 * @param addon to load instead of the package's own
 * @throws MP_BACKEND_UNAVAILABLE if it does not load or computes wrongly, naming what it printed
 */
export async function verify(
  target: TfjsPackage,
  environment: Readonly<Record<string, string | undefined>>,
  addon = "",
): Promise<Verified> {
  const { status, stdout, stderr } = await runCommand(
    process.execPath,
    ["--input-type=commonjs", "--eval", PROGRAM, "--", target.folder, addon],
    { env: { TF_CPP_MIN_LOG_LEVEL: "2", ...environment }, timeoutMs: TIMEOUT_MS },
  );
  const line = stdout.split("\n").find((line) => line.startsWith(MARK));
  if (status !== 0 || line === undefined)
    throw failure(target, complaint(stderr, status), { status, stderr });
  const found = JSON.parse(line.slice(MARK.length)) as {
    readonly product: readonly number[];
    readonly tensorFlow: string;
    readonly gpu: boolean;
  };
  if (found.product.join() !== "19,22,43,50") {
    throw failure(target, `[[1, 2], [3, 4]] by [[5, 6], [7, 8]] gave ${found.product.join(", ")}`, {
      ...found,
    });
  }
  return { tensorFlow: found.tensorFlow, device: found.gpu ? "cuda" : "cpu" };
}

/** An error that Node printed, or the last line of the output. */
function complaint(stderr: string, status: number | null): string {
  const lines = stderr.split("\n").map((line) => line.trim());
  const error = lines.find((line) => /^(?:\w*Error|Error \[\w+\]):/.test(line));
  return error ?? lines.findLast((line) => line !== "") ?? `its process ended with ${status ?? "a signal"}`;
}

function failure({ name, folder }: TfjsPackage, said: string, details: Record<string, unknown>): MpError {
  const stderr = String(details["stderr"] ?? "").slice(-4000);
  return new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `${name} does not work (${said}); install its library with: ${LIBRARY_COMMAND} --package ${folder}`,
    { details: { ...details, stderr, folder } },
  );
}
