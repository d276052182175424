import { spawnPnpm } from "../workspace/install.mjs";
import { environment } from "../workspace/turbo.mjs";

/** These commands install by themselves, and fix a lockfile that is out of date with its package.json. */
const INSTALLING = new Set(["install", "i", "add", "remove", "rm", "update", "up", "dedupe", "import"]);

const RUNNING = new Set(["exec", "run", "test", "dlx"]);

/**
 * Whether everything must be installed first.
 * @param {readonly string[]} args
 */
export function needsInstall(args) {
  const command = args.find((arg) => INSTALLING.has(arg) || RUNNING.has(arg));
  return command === undefined || RUNNING.has(command);
}

/**
 * @param {readonly string[]} args
 * @returns {number} exit code
 */
export function runPnpm(args) {
  return spawnPnpm(args, { env: environment, stdio: "inherit" }) ?? 1;
}
