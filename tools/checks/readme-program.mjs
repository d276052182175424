/** The README's program, type checked and run against this checkout's packages. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { libraries, root } from "../workspace/packages.mjs";
import { turbo } from "../workspace/turbo.mjs";
import { checkProgram } from "./program.mjs";
import { readmeBlock } from "./readme-block.mjs";

const source = readmeBlock("program");
const folder = join(root, "node_modules", ".readme-program");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
for (const { name, path } of libraries()) {
  const link = join(folder, "node_modules", name);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(join(root, path), link, "junction");
}
const built = turbo(["build"], { filter: ["./packages/*"], quiet: true });
process.exitCode = built && checkProgram(folder, source) ? 0 : 1;
