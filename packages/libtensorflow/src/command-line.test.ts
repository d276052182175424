import { describe, expect, it } from "vitest";
import { parseCommandLine } from "./command-line.js";

const parse = (text: string) => parseCommandLine(text.split(" ").filter(Boolean));

describe("parseCommandLine", () => {
  it("installs the pinned release for the CPU when nothing is said", () => {
    expect(parse("")).toEqual({
      kind: "run",
      choice: { device: "cpu", release: "2.21.0", wheel: undefined, folder: undefined, checkOnly: false },
    });
  });

  it("takes every flag", () => {
    expect(parse("--cuda --version 2.12.1 --package some/dir")).toMatchObject({
      choice: { device: "cuda", release: "2.12.1", folder: "some/dir" },
    });
    expect(parse("--check --cuda")).toMatchObject({ choice: { checkOnly: true, device: "cuda" } });
    expect(parse("--wheel a.whl")).toMatchObject({ choice: { wheel: "a.whl" } });
  });

  it("lists the flags", () => {
    const help = parse("--help");
    expect(help.kind).toBe("help");
    for (const flag of ["--cuda", "--version", "--wheel", "--package", "--check"]) {
      expect(help).toHaveProperty("text", expect.stringContaining(flag));
    }
  });

  it.each([
    ["--gpu", /unknown option '--gpu'/],
    ["one", /too many arguments/],
    ["--version", /argument missing/],
    ["--version 2.11.9", /from 2\.12\.0 on is needed, such as 2\.21\.0, got "2\.11\.9"/],
    ["--version latest", /got "latest"/],
    ["--wheel a.whl --version 2.20.0", /cannot be used with/],
    ["--check --wheel a.whl", /cannot be used with/],
  ])("refuses %s in one line", (text, message) => {
    const parsed = parse(text);
    expect(parsed).toMatchObject({ kind: "refused", message: expect.stringMatching(message) });
    expect(parsed).toHaveProperty("message", expect.not.stringContaining("\n"));
  });
});
