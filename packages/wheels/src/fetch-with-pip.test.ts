import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { fetchWithPip, findPip } from "./fetch-with-pip.js";
import { isIndexUnreachable } from "./index-failure.js";
import { failure, removeScratch, scratch } from "./scratch.js";

afterEach(removeScratch);

const request = {
  project: "tensorflow-cpu",
  version: "2.20.0",
  cpython: "3.11",
  platforms: ["manylinux_2_28_x86_64", "manylinux_2_27_x86_64"],
  otherwise: "choose another release with --version",
  space: "1.2 GB is needed",
};

describe("fetchWithPip", () => {
  /** A fake Python: `python3 -m pip …` runs a shell script instead. */
  function fakePython(script: string): Record<string, string | undefined> {
    const folder = scratch();
    const text = `#!/bin/sh\nif [ "$3" = --version ]; then exit 0; fi\n${script}\n`;
    writeFileSync(join(folder, "python3"), text, { mode: 0o755 });
    return { ...process.env, PATH: `${folder}:/usr/bin:/bin` };
  }
  const fetching = (environment: Record<string, string | undefined>, folder = scratch()) =>
    fetchWithPip({ ...request, folder, environment });

  it("finds pip, and finds none where there is none", async () => {
    expect(await findPip(fakePython(""))).toBe("python3");
    const empty = scratch("bin");
    expect(await findPip({ PATH: empty })).toBeUndefined();
  });

  it("asks for the release by project, platform and Python", async () => {
    const folder = scratch("wheels");
    mkdirSync(join(folder, "ignored"));
    const environment = fakePython(`echo "$*" > "${folder}/asked"; touch "${folder}/a.whl"`);
    expect(await fetching(environment, folder)).toBe("a.whl");
    const asked = readFileSync(join(folder, "asked"), "utf8");
    expect(asked).toContain("tensorflow-cpu==2.20.0");
    expect(asked).toContain("--platform manylinux_2_27_x86_64");
    expect(asked).toContain("--only-binary=:all:");
  });

  it.each([
    [
      "WARNING: Retrying (Retry(total=1)) after connection broken by 'NewConnectionError('<x>: Failed to establish a new connection: [Errno 111] Connection refused')'\nERROR: No matching distribution found for tensorflow-cpu==2.20.0",
      "MP_BACKEND_UNAVAILABLE",
      "cannot be reached (Failed to establish a new connection: [Errno 111] Connection refused)",
      true,
    ],
    [
      "ERROR: Could not find a version that satisfies the requirement (from versions: 2.21.0)\nERROR: No matching distribution found",
      "MP_BACKEND_UNAVAILABLE",
      "choose another release with --version",
      false,
    ],
    [
      "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
      "MP_IO",
      "XDG_CACHE_HOME",
      false,
    ],
    [
      "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
      "MP_PARSE",
      "promised",
      false,
    ],
    [
      "ERROR: something else at https://user:secret@host/simple",
      "MP_BACKEND_UNAVAILABLE",
      "host/simple",
      false,
    ],
  ])("knows what pip means by %s", async (said, code, text, unreachable) => {
    const error = await failure(() => fetching(fakePython(`cat >&2 <<'END'\n${said}\nEND\nexit 1`)));
    expect(error.code).toBe(code);
    expect(error.message).toContain(text);
    expect(error.message).not.toContain("secret");
    expect(isIndexUnreachable(error)).toBe(unreachable);
  });
});
