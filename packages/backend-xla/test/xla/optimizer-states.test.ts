import { testOptimizerStates } from "../../../backend-ort/test/optimizer-states.js";
import { open } from "./open.js";

testOptimizerStates(() => open());
