import { afterEach, describe, expect, it, vi } from "vitest";
import { commandLine, type InstallChoice } from "./command-line.js";
import { run } from "./run.js";

const parse = async (text: string): Promise<unknown> => {
  const act = vi.fn(async (_: InstallChoice) => {});
  await commandLine(act).parseAsync(text.split(" ").filter(Boolean), { from: "user" });
  return act.mock.lastCall?.[0];
};

const prints = (stream: "stdout" | "stderr") =>
  vi.spyOn(process[stream], "write").mockImplementation(() => true).mock.calls;
afterEach(() => vi.restoreAllMocks());

describe("commandLine", () => {
  it("installs the pinned release for the CPU when nothing is said", async () => {
    const choice = {
      device: "cpu",
      release: "2.21.0",
      wheel: undefined,
      folder: undefined,
      checkOnly: false,
    };
    expect(await parse("")).toEqual(choice);
  });

  it("takes every flag", async () => {
    const choice = { device: "cuda", release: "2.12.1", folder: "some/dir" };
    expect(await parse("--cuda --version 2.12.1 --package some/dir")).toMatchObject(choice);
    expect(await parse("--check --cuda")).toMatchObject({ checkOnly: true, device: "cuda" });
    expect(await parse("--wheel a.whl")).toMatchObject({ wheel: "a.whl" });
  });

  it("lists the flags", async () => {
    const printed = prints("stdout");
    expect(await run(["--help"])).toBe(0);
    const flags = ["--cuda", "--version", "--wheel", "--package", "--check"];
    for (const flag of flags) expect(printed.join("")).toContain(flag);
  });

  it.each([
    ["--gpu", /unknown option '--gpu'/],
    ["one", /too many arguments/],
    ["--version", /argument missing/],
    ["--version 2.11.9", /from 2\.12\.0 on is needed, such as 2\.21\.0, got "2\.11\.9"/],
    ["--version latest", /got "latest"/],
    ["--wheel a.whl --version 2.20.0", /cannot be used with/],
    ["--check --wheel a.whl", /cannot be used with/],
  ])("refuses %s in one line", async (text, message) => {
    const printed = prints("stderr");
    expect(await run(text.split(" "))).toBe(2);
    expect(printed.join("")).toMatch(message);
    expect(printed.join("")).toMatch(/^[^\n]+\n$/);
  });
});
