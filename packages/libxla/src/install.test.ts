import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { failure, removeScratch, scratch } from "@mp/wheels/scratch";
import { afterEach, describe, expect, it } from "vitest";
import { install } from "./install.js";
import { installCommand, locateInstalled, releaseFolder } from "./locate.js";
import { PLUGIN_FILE } from "./release.js";
import { run } from "./run.js";

afterEach(removeScratch);

describe.runIf(process.platform === "linux" && process.arch === "x64")("install", () => {
  it("refuses a wheel that is not the pinned one, and leaves nothing", async () => {
    const [cache, wheels] = [scratch(), scratch()];
    writeFileSync(join(wheels, "jax_cuda13_pjrt-0.12.0.1-py3-none-manylinux_2_27_x86_64.whl"), "not a wheel");
    const { code, message } = await failure(() =>
      install("cuda13", { wheel: wheels, environment: { XDG_CACHE_HOME: cache } }, () => {}),
    );
    expect(code).toBe("MP_PARSE");
    expect(message).toMatch(/SHA-256 5899bb61.* \(pinned for XLA 0\.12\.0\.1 \(cuda13\)\)/);
    expect(readdirSync(join(cache, "mp", "libxla"))).toEqual([]);
  });

  it("names the wheel that the folder lacks", async () => {
    const wheels = scratch();
    const environment = { XDG_CACHE_HOME: scratch() };
    const { code, message } = await failure(() =>
      install("cuda13", { wheel: wheels, environment }, () => {}),
    );
    expect([code, message]).toEqual(["MP_IO", `--wheel: ${wheels} holds no jax_cuda13_pjrt-0.12.0.1-*.whl`]);
  });
});

it("finds what is installed, each release by its name", () => {
  const environment = { XDG_CACHE_HOME: scratch() };
  expect(locateInstalled("cuda13", environment)).toBeUndefined();
  const path = join(releaseFolder("cuda13", environment), PLUGIN_FILE);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, "");
  expect(locateInstalled("cuda13", environment)).toBe(path);
  expect(locateInstalled("cuda13-compiler", environment)).toBeUndefined();
  expect(installCommand("cuda13")).toMatch(/^node .*mp-libxla\.js install cuda13$/);
});

it("exits with 2 for arguments that it does not know", async () => {
  expect(await run(["install", "cuda12"])).toBe(2);
  expect(await run(["install"])).toBe(2);
  expect(await run(["remove"])).toBe(2);
});
