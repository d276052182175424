import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { failure, removeScratch, scratch } from "@mp/wheels/scratch";
import { afterEach, expect, it } from "vitest";
import { install } from "./install.js";
import { run } from "./run.js";

afterEach(removeScratch);

it.runIf(process.platform === "linux" && process.arch === "x64")(
  "refuses a wheel that is not the pinned one, and leaves nothing",
  async () => {
    const cache = scratch();
    const wheel = join(cache, "openvino.whl");
    writeFileSync(wheel, "not a wheel");
    const { code, message } = await failure(() =>
      install({ wheel, environment: { XDG_CACHE_HOME: cache } }, () => {}),
    );
    expect(code).toBe("MP_PARSE");
    expect(message).toMatch(/SHA-256 2d22b1da.* \(pinned for OpenVINO 2026\.4\.1\)/);
    expect(readdirSync(join(cache, "mp", "libopenvino"))).toEqual([]);
  },
);

it("exits with 2 for an argument that it does not know", async () => {
  expect(await run(["--cuda"])).toBe(2);
});
