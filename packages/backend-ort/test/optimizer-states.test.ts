import { ort } from "../src/index.js";
import { testOptimizerStates } from "./optimizer-states.js";

testOptimizerStates(() => ort());
