/** The README's program, type checked and run against this checkout's packages. */
import { turbo } from "../workspace/turbo.mjs";
import { linkedProject } from "./linked-project.mjs";
import { checkProgram } from "./program.mjs";
import { readmeBlock } from "./readme-block.mjs";

const source = readmeBlock("program");
const folder = linkedProject(".readme-program");
const built = turbo(["build"], { filter: ["./packages/*"], quiet: true });
process.exitCode = built && checkProgram(folder, source) ? 0 : 1;
