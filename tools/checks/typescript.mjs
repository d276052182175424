/**
 * Checks the types of every package, app and tool, tests included, in one process of TypeScript 7; then what TypeScript
 * 5.9, which users may have, says about wrong programs.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { members, root } from "../workspace/packages.mjs";
import { buildPackages, runNode, tool } from "../workspace/turbo.mjs";

const projects = ["tools", ...members().map(({ path }) => path)].flatMap((path) => {
  const files = ["tsconfig.sources.json", "tsconfig.json"].map((name) => join(root, path, name));
  return files.find((file) => existsSync(file)) ?? [];
});

if (!buildPackages()) process.exit(1);
const tsc = join(root, "node_modules", "typescript7", "bin", "tsc");
// Two projects at a time, each by one thread: what a thread has inferred, another has to infer again.
const types = runNode([tsc, "--build", ...projects, "--builders", "2", "--checkers", "1"]) === 0;
const messages = tool("pnpm", ["--silent", "--recursive", "--if-present", "run", "test:compiler"]);
console.log(`${projects.length} projects`);
process.exitCode = types && messages ? 0 : 1;
