import { MpError } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { fileFailure, requireSpace } from "./file-failure.js";

const need = { command: "mp-something", space: "12 MB is needed" };

describe("fileFailure", () => {
  it.each(["ENOSPC", "EDQUOT", "EACCES", "EROFS"])("gives %s a code, the path and a remedy", (code) => {
    const cause = Object.assign(new Error(code), { code, path: "/some/file" });
    const error = fileFailure(cause, need);
    expect(MpError.is(error, "MP_IO")).toBe(true);
    expect(error).toMatchObject({ cause, message: expect.stringMatching(/^\/some\/file: .*XDG_CACHE_HOME/) });
  });

  it("hands every other error back", () => {
    const defect = new TypeError("x is not a function");
    const coded = new MpError("MP_PARSE", "a wheel");
    expect(fileFailure(defect, need)).toBe(defect);
    expect(fileFailure(coded, need)).toBe(coded);
  });
});

describe("requireSpace", () => {
  it("names what is needed and what is free", () => {
    expect(() => requireSpace("/cache", 1e6, 1e6)).not.toThrow();
    expect(() => requireSpace("/cache", 12e6, 853e6)).toThrow(/^\/cache: 853 MB is needed, 12 MB is free/);
  });
});
