/**
 * What the scripts of the root package.json call. From a fresh clone it needs Node and npm alone: it installs
 * what the lockfile says where that is not done yet, builds what is stale, then runs.
 *
 *   node tools/run.mjs app <name> [flags]    run an app
 *   node tools/run.mjs bench [what] [flags]  time training steps, see bench/README.md
 *   node tools/run.mjs test                  every package's tests, every app at a small size, the README's program
 *   node tools/run.mjs check [name …]        the checks beside the tests, or only those named
 *   node tools/run.mjs pack <folder>         every public package as a tarball
 *   node tools/run.mjs soak [flags]          the long runs of which the tests make a fiftieth
 */
import { install, requireNode } from "./workspace/install.mjs";

requireNode();
const [command, ...rest] = process.argv.slice(2);

// Imported late, so that a command line that cannot be served is refused before anything is installed.
switch (command) {
  case "app": {
    const { findApp, runApp } = await import("./commands/app.mjs");
    const app = findApp(rest[0]);
    install();
    runApp(app, rest.slice(1));
    break;
  }
  case "bench": {
    const { runApp } = await import("./commands/app.mjs");
    const { bench } = await import("./workspace/packages.mjs");
    install();
    runApp(bench(), rest);
    break;
  }
  case "test": {
    install();
    const { runTests } = await import("./commands/test.mjs");
    process.exitCode = await runTests();
    break;
  }
  case "check": {
    const { findChecks, runChecks } = await import("./commands/check.mjs");
    const checks = findChecks(rest);
    install();
    process.exitCode = await runChecks(checks);
    break;
  }
  case "pack": {
    const { packFolder, runPack } = await import("./commands/pack.mjs");
    const folder = packFolder(rest);
    install();
    runPack(folder);
    break;
  }
  case "soak": {
    const { runSoak, soakOptions } = await import("./commands/soak.mjs");
    const options = soakOptions(rest);
    install();
    process.exitCode = await runSoak(options);
    break;
  }
  default:
    console.error(
      `run: ${command === undefined ? "no command" : `unknown command "${command}"`}; app, bench, check, pack, soak or test`,
    );
    process.exitCode = 2;
}
