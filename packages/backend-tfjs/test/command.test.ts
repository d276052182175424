import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

it("has the command of @mp/libtensorflow", () => {
  const command = fileURLToPath(new URL("../bin/mp-libtensorflow.js", import.meta.url));
  expect(execFileSync(process.execPath, [command, "--help"], { encoding: "utf8" })).toMatch(
    /^Usage: mp-libtensorflow \[flags\]/,
  );
});
