/** The program of docs/install.md, run against this checkout's packages; the check `pack` checks its types too. */
import { turbo } from "../workspace/turbo.mjs";
import { linkedProject } from "./linked-project.mjs";
import { markedBlock } from "./marked-block.mjs";
import { runProgram } from "./program.mjs";

const source = markedBlock("program");
const folder = linkedProject(".first-program");
const built = turbo(["build:js"], { filter: ["./packages/*"], quiet: true });
process.exitCode = built && runProgram(folder, source) ? 0 : 1;
