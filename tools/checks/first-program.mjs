/** Runs the program of docs/install.md against this checkout's packages; the check `pack` checks its types too. */
import { turbo } from "../workspace/turbo.mjs";
import { linkProject } from "./linked-project.mjs";
import { readBlock } from "./marked-block.mjs";
import { runProgram } from "./program.mjs";

const source = readBlock("program");
const folder = linkProject(".first-program");
const built = turbo(["build"], { filter: ["./packages/*"], quiet: true });
process.exitCode = built && runProgram(folder, source) ? 0 : 1;
