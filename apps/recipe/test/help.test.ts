import { expect, it, vi } from "vitest";

it.each(["--help", "-h"])("%s prints help and trains nothing", async (flag) => {
  const printed = vi.spyOn(console, "log").mockImplementation(() => undefined);
  const given = process.argv;
  process.argv = [...given.slice(0, 2), flag];
  try {
    vi.resetModules();
    await import("../src/main.js");
    expect(printed.mock.calls.flat().join("\n")).toMatch(
      /^recipe: trains a small classifier .*\n.*Takes no flags/,
    );
    expect(printed).toHaveBeenCalledTimes(1);
  } finally {
    process.argv = given;
    printed.mockRestore();
  }
});
