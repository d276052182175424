/**
 * Runs the scripts of the root package.json. From a fresh clone it needs Node and npm alone: it installs what the
 * lockfile says where that is not done yet, builds what is stale, then runs.
 *
 *   node tools/run.mjs start                 the word language model, in float32 and in mixed precision
 *   node tools/run.mjs app <name> [flags]    run an app
 *   node tools/run.mjs bench [what] [flags]  time training steps, see bench/README.md
 *   node tools/run.mjs build [filter …]      every package and app, or those that turbo's filters name
 *   node tools/run.mjs turbo <task> [flags]  a task of turbo.json
 *   node tools/run.mjs pnpm [arguments]      the pnpm that package.json pins
 *   node tools/run.mjs test                  every package's tests, every app at a small size, the first program
 *   node tools/run.mjs check [name …]        the checks beside the tests, or only those named
 *   node tools/run.mjs pack <folder>         every public package as a tarball
 *   node tools/run.mjs version               the next version of all packages and their changelogs, from the changesets
 *   node tools/run.mjs docs                  the guide, all pages and the API reference as a site
 *   node tools/run.mjs gallery [app …]       the pictures of docs/gallery.md, by the commands there
 *   node tools/run.mjs gpu pack|run <folder> archives for a machine with a GPU and nothing else, see docs/gpu.md
 *   node tools/run.mjs soak [flags]          the long runs of which the tests make a fiftieth
 *   node tools/run.mjs steps [--write]      compares the hash of every emitted step with tools/steps/hashes.txt
 *   node tools/run.mjs count [--write]       lines of source and tests by package; --write lowers the budget to them
 *   node tools/run.mjs vulkan <command …>    runs a command with software Vulkan, which is downloaded the first time
 */
import { install, isFresh, requireNode } from "./workspace/install.mjs";

requireNode();
const [command, ...rest] = process.argv.slice(2);

// Imported late, so that an invalid command line is refused before anything is installed.
switch (command) {
  case "start": {
    const { findApp, runApp } = await import("./commands/app.mjs");
    const { demonstration } = await import("./commands/start.mjs");
    const [first, later] = ["about three minutes in a new clone", "about two minutes"];
    console.error(
      `A word language model in float32, then in mixed precision: ${isFresh() ? first : later} on two cores`,
    );
    install();
    runApp(findApp("word-lm"), ["--compare", ...demonstration(rest), ...rest]);
    break;
  }
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
  case "build": {
    install();
    const { runBuild } = await import("./commands/build.mjs");
    process.exitCode = runBuild(rest);
    break;
  }
  case "turbo": {
    install();
    const { runTurbo } = await import("./commands/build.mjs");
    process.exitCode = runTurbo(rest);
    break;
  }
  case "pnpm": {
    const { needsInstall, runPnpm } = await import("./commands/pnpm.mjs");
    if (needsInstall(rest)) install();
    process.exitCode = runPnpm(rest);
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
  case "version": {
    install();
    const { runVersion } = await import("./commands/version.mjs");
    runVersion();
    break;
  }
  case "docs": {
    install();
    const { runDocs } = await import("./commands/docs.mjs");
    process.exitCode = await runDocs();
    break;
  }
  case "gallery": {
    install();
    const { runGallery } = await import("./commands/gallery.mjs");
    await runGallery(rest);
    break;
  }
  case "gpu": {
    const { gpuOptions, runGpu } = await import("./commands/gpu.mjs");
    const asked = gpuOptions(rest);
    if (asked.verb === "run") {
      process.exitCode = runGpu(asked.folder, asked.flags);
      break;
    }
    install();
    const { packGpu } = await import("./gpu/pack.mjs");
    packGpu(asked.folder, asked.options);
    break;
  }
  case "soak": {
    const { runSoak, soakOptions } = await import("./commands/soak.mjs");
    const options = soakOptions(rest);
    install();
    process.exitCode = await runSoak(options);
    break;
  }
  case "count": {
    install();
    const { runCount } = await import("./commands/count.mjs");
    runCount(rest);
    break;
  }
  case "steps": {
    const { runSteps, stepsOptions } = await import("./commands/steps.mjs");
    const options = stepsOptions(rest);
    install();
    process.exitCode = runSteps(options);
    break;
  }
  case "vulkan": {
    const { runWithVulkan } = await import("./commands/vulkan.mjs");
    process.exitCode = runWithVulkan(rest);
    break;
  }
  default:
    console.error(
      `run: ${command === undefined ? "no command" : `unknown command "${command}"`}; app, bench, build, check, count, docs, gallery, gpu, pack, pnpm, soak, start, steps, test, turbo, version or vulkan`,
    );
    process.exitCode = 2;
}
