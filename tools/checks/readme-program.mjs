/** The README's program, run against this checkout's packages; the check `pack` checks its types too. */
import { turbo } from "../workspace/turbo.mjs";
import { linkedProject } from "./linked-project.mjs";
import { runProgram } from "./program.mjs";
import { readmeBlock } from "./readme-block.mjs";

const source = readmeBlock("program");
const folder = linkedProject(".readme-program");
const built = turbo(["build:js"], { filter: ["./packages/*"], quiet: true });
process.exitCode = built && runProgram(folder, source) ? 0 : 1;
