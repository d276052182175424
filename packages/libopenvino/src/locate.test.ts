import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { failure, removeScratch, scratch } from "@mp/wheels/scratch";
import { afterEach, describe, expect, it } from "vitest";
import { libraryCommand, libraryFolder, locateLibrary } from "./locate.js";
import { LIBRARY_FILE } from "./release.js";

afterEach(removeScratch);

describe("locateLibrary", () => {
  it("prefers the given path, then MP_OPENVINO, then the installed library", () => {
    const cache = scratch();
    const environment = { XDG_CACHE_HOME: cache };
    const folder = libraryFolder(environment);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, LIBRARY_FILE), "");
    const [given, named] = ["a.so", "b.so"].map((name) => join(cache, name)) as [string, string];
    for (const file of [given, named]) writeFileSync(file, "");
    expect(locateLibrary(given, { ...environment, MP_OPENVINO: named })).toBe(given);
    expect(locateLibrary(undefined, { ...environment, MP_OPENVINO: named })).toBe(named);
    expect(locateLibrary(undefined, environment)).toBe(join(folder, LIBRARY_FILE));
  });

  it("names the command where there is none", async () => {
    const { code, message } = await failure(() => locateLibrary(undefined, { XDG_CACHE_HOME: scratch() }));
    expect(code).toBe("MP_BACKEND_UNAVAILABLE");
    expect(message).toMatch(/does not exist; install it with: node .*mp-libopenvino\.js$/);
  });

  it("asks for an absolute path", async () => {
    const { code, message } = await failure(() => locateLibrary("a.so", {}));
    expect([code, message]).toEqual([
      "MP_INVALID_ARGUMENT",
      'openvino: library must be an absolute path, got "a.so"',
    ]);
  });
});

it("names npx where it is installed", () => {
  expect(libraryCommand("file:///a/node_modules/@mp/libopenvino/dist/index.js")).toBe(
    "npx --no mp-libopenvino",
  );
});
