// The program of bin/mp-libxla.js.
import { run } from "./run.js";

process.exitCode = await run(process.argv.slice(2));
