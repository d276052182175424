import { reference } from "@mp/core/reference";
import { describeConformance } from "../src/vitest.js";

describeConformance({ factory: () => reference() });
