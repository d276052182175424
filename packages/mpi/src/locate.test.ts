import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { failure, removeScratch, scratch } from "@mp/wheels/scratch";
import { afterEach, describe, expect, it } from "vitest";
import { openLibrary } from "./library.js";
import { installFolder, LIBRARY_FILE, locateLibrary, MPI_COMMAND, mpiCommand } from "./locate.js";

afterEach(removeScratch);

describe("locateLibrary", () => {
  it("takes the option, then the variable, then what was installed", () => {
    const cache = scratch("mp", "mpi", "mpich-5.0.2", "lib");
    const root = join(cache, "..", "..", "..", "..");
    const [option, variable] = ["a.so", "b.so"].map((name) => join(root, name));
    const installed = join(cache, LIBRARY_FILE);
    for (const file of [option, variable, installed]) writeFileSync(file ?? "", "");
    const environment = { XDG_CACHE_HOME: root, MP_MPI_LIBRARY: variable };
    expect(locateLibrary(option, environment)).toBe(option);
    expect(locateLibrary(undefined, environment)).toBe(variable);
    expect(locateLibrary(undefined, { XDG_CACHE_HOME: root })).toBe(installed);
    expect(installFolder({ XDG_CACHE_HOME: "relative" })).not.toContain("relative");
  });

  it("names what installs one where there is none", async () => {
    const error = await failure(() => locateLibrary(undefined, { XDG_CACHE_HOME: scratch() }));
    expect(error).toMatchObject({
      code: "MP_BACKEND_UNAVAILABLE",
      message: expect.stringMatching(
        /install it with: node \S+\/packages\/mpi\/bin\/mp-mpi\.js install, or name .* in MP_MPI_LIBRARY/,
      ),
    });
  });

  it("refuses a relative path, which a loader would search, and one that does not exist", async () => {
    expect(await failure(() => locateLibrary("libmpi.so", {}))).toMatchObject({
      code: "MP_INVALID_ARGUMENT",
      message: 'library: an absolute path is needed, got "libmpi.so"',
    });
    expect(await failure(() => locateLibrary(undefined, { MP_MPI_LIBRARY: "/none.so" }))).toMatchObject({
      code: "MP_BACKEND_UNAVAILABLE",
      message: expect.stringContaining("MP_MPI_LIBRARY: /none.so does not exist"),
    });
  });
});

describe("openLibrary", () => {
  it("refuses a file that is not a library, such as a link that a wheel keeps as a text", async () => {
    const file = join(scratch(), "libmpi_abi.so");
    writeFileSync(file, "INPUT(libmpi_abi.so.1)");
    expect(await failure(() => openLibrary(file))).toMatchObject({
      code: "MP_BACKEND_UNAVAILABLE",
      message: expect.stringMatching(
        /libmpi_abi\.so does not load .*install one with: node \S+\/mp-mpi\.js install/s,
      ),
    });
  });
});

describe("mpiCommand", () => {
  it("is npx's without fetching where the package is installed, and a file that exists in a checkout", () => {
    expect(mpiCommand("file:///app/node_modules/@mp/mpi/dist/index.js")).toBe("npx --no mp-mpi");
    const [program, file, ...others] = MPI_COMMAND.split(" ");
    expect([program, others]).toEqual(["node", []]);
    expect(existsSync(file as string)).toBe(true);
  });
});
