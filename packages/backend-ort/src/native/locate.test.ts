import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import Module from "node:module";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { MpError } from "@mp/graph";
import { afterEach, describe, expect, it } from "vitest";
import { INSTALL_COMMAND, locateLibrary } from "./locate.js";

const folders: string[] = [];

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "mp-locate-"));
  folders.push(folder);
  return folder;
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function failure(action: () => unknown): MpError {
  try {
    action();
  } catch (error) {
    if (MpError.is(error)) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

/** Runs without NODE_PATH, which package managers set and through which everything is found. */
function withoutGlobalFolders<T>(action: () => T): T {
  const nodePath = process.env["NODE_PATH"];
  const { _initPaths } = Module as unknown as { _initPaths: () => void };
  delete process.env["NODE_PATH"];
  _initPaths();
  try {
    return action();
  } finally {
    if (nodePath !== undefined) process.env["NODE_PATH"] = nodePath;
    _initPaths();
  }
}

/** Makes a folder whose node_modules hold the package, with or without its library. */
function installation(withLibrary: boolean): string {
  const root = temporaryFolder();
  const home = join(root, "node_modules", "onnxruntime-node");
  mkdirSync(join(home, "bin", "napi-v9", "linux", "arm64"), { recursive: true });
  writeFileSync(join(home, "package.json"), JSON.stringify({ binary: { napi_versions: [9] } }));
  if (withLibrary) {
    writeFileSync(join(home, "bin", "napi-v9", "linux", "arm64", "libonnxruntime.so.1"), "");
  }
  return join(root, "program.js");
}

describe("locateLibrary", () => {
  it("finds the library that is installed here", () => {
    const path = locateLibrary();
    expect(isAbsolute(path)).toBe(true);
    expect(existsSync(path)).toBe(true);
  });

  it("follows the package's own folder for bindings and the platform asked for", () => {
    const from = installation(true);
    expect(locateLibrary({ searchFrom: [from], platform: "linux", arch: "arm64" })).toMatch(
      /napi-v9.linux.arm64.libonnxruntime\.so\.1$/,
    );
  });

  it("searches the places in order until one has the package", () => {
    const empty = join(temporaryFolder(), "program.js");
    const path = locateLibrary({
      searchFrom: [empty, installation(true)],
      platform: "linux",
      arch: "arm64",
    });
    expect(existsSync(path)).toBe(true);
  });

  it("names the package and the command when it is not installed", () => {
    const error = withoutGlobalFolders(() =>
      failure(() => locateLibrary({ searchFrom: [join(temporaryFolder(), "program.js")] })),
    );
    expect(error.code).toBe("MP_BACKEND_UNAVAILABLE");
    expect(error.message).toContain("onnxruntime-node is not installed");
    expect(error.message).toContain("ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node@1.30.0");
    expect(error.details).toMatchObject({ package: "onnxruntime-node", install: INSTALL_COMMAND });
  });

  it("tells a package without its library from a missing package", () => {
    const error = failure(() =>
      locateLibrary({ searchFrom: [installation(false)], platform: "linux", arch: "arm64" }),
    );
    expect(error.code).toBe("MP_BACKEND_UNAVAILABLE");
    expect(error.message).toContain("installed without its library");
  });

  it.each([
    ["darwin", "x64", "Intel Macs"],
    ["linux", "riscv64", "linux/riscv64"],
    ["aix", "ppc64", "aix/ppc64"],
  ])("says that nothing is shipped for %s/%s", (platform, arch, text) => {
    const error = failure(() => locateLibrary({ platform, arch }));
    expect(error.code).toBe("MP_BACKEND_UNAVAILABLE");
    expect(error.message).toContain(text);
  });

  it("takes a library of the caller's own, absolute and existing", () => {
    const file = join(temporaryFolder(), "libonnxruntime.so.1.30.0");
    writeFileSync(file, "");
    expect(locateLibrary({ library: file })).toBe(file);
    expect(failure(() => locateLibrary({ library: "libonnxruntime.so" })).code).toBe("MP_INVALID_ARGUMENT");
    expect(failure(() => locateLibrary({ library: `${file}.gone` })).code).toBe("MP_BACKEND_UNAVAILABLE");
  });
});
