import { spawnPnpm } from "../workspace/install.mjs";
import { environment } from "../workspace/turbo.mjs";

/** These commands install by themselves, and fix a lockfile that is out of date with its package.json. */
const INSTALLING = new Set(["install", "i", "add", "remove", "rm", "update", "up", "dedupe", "import"]);

const RUNNING = new Set(["exec", "run", "test", "dlx"]);

/** @param {readonly string[]} args @param {() => void} install @returns {number} exit code */
export function run(args, install) {
  const command = args.find((arg) => INSTALLING.has(arg) || RUNNING.has(arg));
  if (command === undefined || RUNNING.has(command)) install();
  return spawnPnpm(args, { env: environment, stdio: "inherit" }) ?? 1;
}
