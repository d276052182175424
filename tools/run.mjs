/**
 * Runs the scripts of the root package.json: `node tools/run.mjs` lists them. From a fresh clone it needs Node and npm
 * alone: it installs what the lockfile says where that is not done yet, builds what is stale, then runs.
 */
import { install, requireNode } from "./workspace/install.mjs";

/**
 * @typedef {object} Command
 * @property {string} [usage] its arguments
 * @property {string} does
 * @property {true} [checksFirst] `run` installs by itself, after it has checked the command line
 */

/** Commands by the name of the file in `commands`. @type {Readonly<Record<string, Command>>} */
const COMMANDS = {
  start: {
    usage: "[flags]",
    does: "fine-tunes a small network in float32, mixed precision and float16 alone",
    checksFirst: true,
  },
  app: { usage: "NAME [flags]", does: "runs an app", checksFirst: true },
  bench: { usage: "[what] [flags]", does: "times training steps, see bench/README.md" },
  build: { usage: "[filter …]", does: "builds what is stale: everything, or what turbo's filters name" },
  turbo: { usage: "TASK [flags]", does: "runs a task of turbo.json" },
  pnpm: { usage: "[arguments]", does: "runs the pnpm that package.json pins", checksFirst: true },
  test: {
    usage: "[--only] [flags]",
    does: "every package's tests, every app at a small size, the first program; --help lists what flags add",
  },
  check: { usage: "[name …]", does: "the checks beside the tests, or only those named", checksFirst: true },
  api: { does: "writes the reports of what the entries of packages export" },
  count: { usage: "[--write]", does: "lines of source and tests by package; --write lowers the budget" },
  docs: { does: "the guide, all pages and the API reference as a site" },
  gallery: { usage: "[app …]", does: "the pictures of docs/gallery.md, by the commands there" },
  steps: {
    usage: "[--write] [names]",
    does: "compares the hash of every emitted step with tools/steps/hashes.txt; ten minutes for all",
    checksFirst: true,
  },
  soak: {
    usage: "[flags] [names]",
    does: "the long runs of which the tests make a fiftieth",
    checksFirst: true,
  },
  vulkan: {
    usage: "COMMAND …",
    does: "runs a command with software Vulkan, which is downloaded the first time",
    checksFirst: true,
  },
  "xla-cpu": {
    usage: "COMMAND …",
    does: "runs a command with XLA's CPU plugin, which is downloaded the first time",
    checksFirst: true,
  },
  gpu: {
    usage: "pack|run DIR",
    does: "archives for a machine with a GPU and nothing else, see docs/gpu.md",
    checksFirst: true,
  },
  pack: { usage: "DIR", does: "every public package as a tarball", checksFirst: true },
  version: { does: "the next version of all packages and their changelogs, from the changesets" },
};

requireNode();
const [name, ...args] = process.argv.slice(2);
const command = Object.hasOwn(COMMANDS, name ?? "") ? COMMANDS[name ?? ""] : undefined;
if (command === undefined) {
  if (name !== undefined) console.error(`run: unknown command "${name}"`);
  for (const [known, { usage = "", does }] of Object.entries(COMMANDS))
    console.error(`  ${`${known} ${usage}`.padEnd(36)}${does}`);
  process.exitCode = 2;
} else {
  // Imported late: most commands use packages that are installed here.
  if (!command.checksFirst) install();
  /** @type {{ run: (args: readonly string[], install: () => void) => unknown }} */
  const { run } = await import(`./commands/${name}.mjs`);
  const code = await run(args, install);
  if (typeof code === "number") process.exitCode = code;
}
