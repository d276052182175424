import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { failure, removeScratch, scratch } from "@mp/wheels/scratch";
import { afterEach, describe, expect, it } from "vitest";
import { install } from "./install.js";
import { startProcesses } from "./start-processes.js";

afterEach(removeScratch);

describe("install", () => {
  it("takes nothing from a wheel with another sum, and leaves nothing", async () => {
    const root = scratch();
    const wheel = join(root, "mpich-5.0.2-py3-none-manylinux_2_28_x86_64.whl");
    writeFileSync(wheel, "not it");
    const environment = { XDG_CACHE_HOME: root };
    expect(await failure(() => install({ wheel, environment }, () => {}))).toMatchObject({
      code: "MP_PARSE",
      message: expect.stringContaining("pinned for MPICH 5.0.2"),
    });
    expect(readdirSync(join(root, "mp", "mpi"))).toEqual([]);
  });

  it("names a wheel that does not exist", async () => {
    const environment = { XDG_CACHE_HOME: scratch() };
    expect(await failure(() => install({ wheel: "/no.whl", environment }, () => {}))).toMatchObject({
      code: "MP_IO",
      message: "--wheel: /no.whl does not exist",
    });
  });
});

describe("startProcesses", () => {
  /** A launcher that prints its arguments and exits with code 7. */
  function fakeLauncher(folder: string): string {
    const file = join(folder, "mpiexec");
    writeFileSync(file, `#!/bin/sh\necho "$0 $*" > "${join(folder, "told")}"\nexit 7\n`, { mode: 0o755 });
    return file;
  }
  const start = (environment: Readonly<Record<string, string | undefined>>) =>
    startProcesses({ processes: "3", words: ["node", "a.js", "-n", "5"], environment });

  it.each(["MP_MPIEXEC", "installed", "PATH", "PATH, for a library of your own"])(
    "finds the launcher by %s, and returns its exit code",
    async (how) => {
      const root = scratch("mp", "mpi", "mpich-5.0.2", "bin");
      const cache = join(root, "..", "..", "..", "..");
      const own = scratch();
      const none = { XDG_CACHE_HOME: own, PATH: "/usr/bin:/bin" };
      const places: Readonly<Record<string, readonly [string, Readonly<Record<string, string>>]>> = {
        MP_MPIEXEC: [own, { ...none, MP_MPIEXEC: join(own, "mpiexec") }],
        installed: [root, { ...none, XDG_CACHE_HOME: cache }],
        PATH: [own, { ...none, PATH: `${own}:/usr/bin:/bin` }],
      };
      const [folder, environment] = places[how] ?? [
        own,
        { XDG_CACHE_HOME: cache, PATH: `${own}:/usr/bin:/bin`, MP_MPI_LIBRARY: "/opt/mpi/libmpi_abi.so.1" },
      ];
      if (folder === own) fakeLauncher(root);
      fakeLauncher(folder);
      expect(await start(environment)).toBe(7);
      expect(existsSync(join(folder, "told"))).toBe(true);
    },
  );

  it("names what installs one where there is none, and refuses a number that is none", async () => {
    const environment = { XDG_CACHE_HOME: scratch(), PATH: scratch() };
    expect(await failure(() => start(environment))).toMatchObject({
      code: "MP_BACKEND_UNAVAILABLE",
      message: expect.stringMatching(/install it with: node \S+\/mp-mpi\.js install/),
    });
    const asked = () => startProcesses({ processes: "0", words: ["node"], environment });
    expect(await failure(asked)).toMatchObject({ code: "MP_INVALID_ARGUMENT" });
  });
});
