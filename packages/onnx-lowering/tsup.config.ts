import { preset } from "@mp/build/tsup";

export default preset({
  index: "src/index.ts",
  probe: "src/probe/index.ts",
  program: "src/program/index.ts",
});
