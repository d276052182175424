/** Runs built apps in the process of their tests: a process each would start Node and load the engine every time. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The program runs again each time that its address is new; the modules that it imports stay. */
let runs = 0;

/**
 * Collects what the process writes until the returned function is called.
 * @param {"stdout" | "stderr"} name
 */
function collect(name) {
  const stream = process[name];
  const { write } = stream;
  const listeners = stream.listeners("error");
  let text = "";
  stream.write = /** @type {typeof write} */ (
    (/** @type {unknown} */ chunk) => {
      text += String(chunk);
      return true;
    }
  );
  return () => {
    stream.write = write;
    for (const listener of stream.listeners("error"))
      if (!listeners.includes(listener)) stream.off("error", /** @type {() => void} */ (listener));
    return text;
  };
}

/** @type {typeof import("./app-runner.d.mts").appRunner} */
export const appRunner = (main, common = []) => {
  const folder = mkdtempSync(join(tmpdir(), "mp-app-"));
  const program = fileURLToPath(main);

  /** @type {import("./app-runner.d.mts").AppRunner["run"]} */
  const run = async (...flags) => {
    const { argv, exitCode } = process;
    const [out, err] = [collect("stdout"), collect("stderr")];
    process.argv = [process.execPath, program, ...common, ...flags];
    process.exitCode = undefined;
    const restore = () => {
      const ended = { status: process.exitCode ?? 0, stdout: out(), stderr: err() };
      Object.assign(process, { argv, exitCode });
      return ended;
    };
    return import(`${main.href}?run=${++runs}`).then(restore, (error) => {
      restore();
      throw error;
    });
  };

  return {
    folder,
    run,
    result: async (...flags) => {
      const json = join(folder, "result.json");
      rmSync(json, { force: true });
      const { status, stdout, stderr } = await run("--json", json, ...flags);
      if (status !== 0 || stderr.includes("MP_")) throw new Error(`exit code ${status}: ${stderr}`);
      return { ...JSON.parse(readFileSync(json, "utf8")), stdout };
    },
    notRefused: async (cases) => {
      const wrong = [];
      for (const flags of cases) {
        const ended = await run("--steps", "2", ...flags);
        if (ended.status !== 2 || ended.stderr.trim().split("\n").length !== 1)
          wrong.push({ flags, ...ended });
      }
      return wrong;
    },
    interrupted: (...flags) => {
      const stop = ["--import", "@mp/build/interrupt-at-first-step"];
      return spawnSync(process.execPath, [...stop, program, ...common, ...flags]).status;
    },
    dispose: () => rmSync(folder, { recursive: true }),
  };
};
