import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { failure, removeScratch, scratch } from "@mp/wheels/scratch";
import { afterEach, describe, expect, it } from "vitest";
import { fakeCompiler, fakeTfjsNode } from "../test/fixtures/fake-tfjs-node.js";
import { fakeWheel } from "../test/fixtures/fake-wheel.js";
import { check, type InstallOptions, install } from "./install.js";

afterEach(removeScratch);

const linux = { platform: "linux", arch: "x64", glibc: "2.31" };

/** A project with a fake tfjs-node, and the options to install into it. */
function project(overrides: Partial<InstallOptions> = {}): {
  readonly folder: string;
  readonly cache: string;
  readonly options: InstallOptions;
} {
  const root = scratch();
  const folder = fakeTfjsNode(root);
  const environment = { ...process.env, XDG_CACHE_HOME: join(root, "cache"), CXX: fakeCompiler(root) };
  const options: InstallOptions = {
    device: "cpu",
    release: "2.20.0",
    wheel: fakeWheel(root),
    workingDirectory: root,
    environment,
    platform: linux,
    ...overrides,
  };
  return { folder, cache: join(root, "cache", "mp", "libtensorflow"), options };
}

const quiet = () => {};

async function steps(options: InstallOptions): Promise<readonly string[]> {
  const said: string[] = [];
  await install(options, (step) => said.push(step));
  return said;
}

const own = (folder: string) => readdirSync(join(folder, "deps", "lib"));
const partials = (folder: string) =>
  readdirSync(folder, { recursive: true }).filter((name) => String(name).includes(".partial-"));

describe("install", () => {
  it("unpacks, links, compiles, tries and puts in place", async () => {
    const { folder, cache, options } = project();
    expect(await steps(options)).toEqual([
      "package",
      "wheel",
      "unpacked",
      "library",
      "compiled",
      "addon",
      "verified",
    ]);
    expect(await check(options, quiet)).toEqual({ tensorFlow: "2.20.0", device: "cpu" });
    const [place = ""] = own(folder);
    expect(place).toMatch(/^mp-tensorflow_cpu-2\.20\.0-[0-9a-f]{12}$/);
    const library = join(folder, "deps", "lib", place, "libtensorflow_cc.so.2");
    expect(statSync(library).ino).toBe(
      statSync(join(cache, place.slice(3), "lib", "libtensorflow_cc.so.2")).ino,
    );
    expect([...partials(folder), ...partials(cache)]).toEqual([]);
  });

  it("extracts the headers that are named and no others", async () => {
    const { cache, options } = project();
    await install(options, quiet);
    const [key = ""] = readdirSync(cache).filter((name) => name.startsWith("tensorflow_cpu"));
    const headers = readdirSync(join(cache, key, "include"), { recursive: true }).map(String);
    expect(headers).toContain("tensorflow/c/c_api_macros.h");
    expect(headers).toContain("external/local_tsl/tsl/c/tsl_status.h");
    expect(headers).not.toContain("tensorflow/core/never_named.h");
  });

  it("needs neither compiler nor wheel the second time", async () => {
    const { options } = project();
    await install(options, quiet);
    const root = scratch();
    fakeTfjsNode(root);
    const environment = { ...options.environment, CXX: "no-such-compiler" };
    expect(await steps({ ...options, workingDirectory: root, environment })).toEqual([
      "package",
      "wheel",
      "cache",
      "library",
      "addon",
      "verified",
    ]);
  });

  it("takes the libraries of an earlier release away after the change", async () => {
    const { options, folder } = project();
    await install(options, quiet);
    const [before] = own(folder);
    const wheel = fakeWheel(options.workingDirectory, { version: "2.20.1" });
    expect(await install({ ...options, wheel }, quiet)).toEqual({ tensorFlow: "2.20.1", device: "cpu" });
    expect(own(folder)).toHaveLength(1);
    expect(own(folder)).not.toContain(before);
  });

  it("repairs libraries that lost a part, in the package and in the cache", async () => {
    const { options, folder, cache } = project();
    await install(options, quiet);
    const [place = ""] = own(folder);
    rmSync(join(folder, "deps", "lib", place, "libtensorflow_framework.so.2"));
    expect(await steps(options)).toEqual(["package", "wheel", "cache", "library", "addon", "verified"]);
    rmSync(join(cache, place.slice(3), "lib", "libtensorflow_cc.so.2"));
    expect(await steps(options)).toContain("unpacked");
    expect(await check(options, quiet)).toMatchObject({ tensorFlow: "2.20.0" });
  });

  it("compiles anew where the cache's addon does not load here", async () => {
    const { options, cache, folder } = project();
    await install(options, quiet);
    const [file = ""] = readdirSync(join(cache, "addons"), { recursive: true })
      .map(String)
      .filter((name) => name.endsWith(".node"));
    const broken = JSON.stringify({ broken: true });
    writeFileSync(join(cache, "addons", file), broken);
    writeFileSync(join(folder, "lib", "napi-v8", "tfjs_binding.node"), broken);
    expect(await steps(options)).toEqual([
      "package",
      "wheel",
      "cache",
      "library",
      "compiled",
      "addon",
      "verified",
    ]);
    expect(partials(folder)).toEqual([]);
  });
});

describe("install, refusing", () => {
  /** Installs 2.20.0, makes the installation of another release fail, and checks that the first still works. */
  async function failing(overrides: (root: string) => Partial<InstallOptions>) {
    const { options, folder, cache } = project();
    await install(options, quiet);
    const addon = readFileSync(join(folder, "lib", "napi-v8", "tfjs_binding.node"), "utf8");
    const error = await failure(() => install({ ...options, ...overrides(options.workingDirectory) }, quiet));
    expect(await check(options, quiet)).toEqual({ tensorFlow: "2.20.0", device: "cpu" });
    expect(readFileSync(join(folder, "lib", "napi-v8", "tfjs_binding.node"), "utf8")).toBe(addon);
    expect([...partials(folder), ...partials(cache)]).toEqual([]);
    return error;
  }

  it("a wheel whose file is not what its RECORD says", async () => {
    const files = { "tensorflow/libtensorflow_framework.so.2": "A".repeat(43) };
    const error = await failing((root) => ({
      wheel: fakeWheel(root, { version: "2.20.1", recordOf: files }),
    }));
    expect(error.code).toBe("MP_PARSE");
    expect(error.message).toContain("libtensorflow_framework.so.2 is not what its RECORD says");
  });

  it("a wheel that bears the name of the pinned one and is another", async () => {
    const error = await failing((root) => ({ wheel: fakeWheel(root, { version: "2.21.0" }) }));
    expect(error.code).toBe("MP_PARSE");
    expect(error.message).toContain("SHA-256 2b847d217b02");
    expect(error.message).toContain("nothing was installed");
  });

  it("a wheel of another platform", async () => {
    const error = await failing((root) => ({ wheel: fakeWheel(root, { platform: "win_amd64" }) }));
    expect(error.code).toBe("MP_INVALID_ARGUMENT");
    expect(error.message).toContain("win_amd64");
  });

  it("a wheel of a newer glibc", async () => {
    const error = await failing((root) => ({
      wheel: fakeWheel(root, { version: "2.20.1", platform: "manylinux_2_99_x86_64" }),
    }));
    expect(error.code).toBe("MP_BACKEND_UNAVAILABLE");
    expect(error.message).toContain("needs glibc 2.99, this system has 2.31");
  });

  it("a wheel without the library", async () => {
    const files = { "tensorflow/libtensorflow_cc.so.2": undefined };
    const error = await failing((root) => ({ wheel: fakeWheel(root, { version: "2.20.1", files }) }));
    expect(error.code).toBe("MP_PARSE");
    expect(error.message).toContain("holds no tensorflow/libtensorflow_cc.so.2");
  });

  it("a wheel that was cut short", async () => {
    const error = await failing((root) => {
      const wheel = fakeWheel(root, { version: "2.20.1" });
      writeFileSync(wheel, readFileSync(wheel).subarray(0, 1500));
      return { wheel };
    });
    expect(error.code).toBe("MP_PARSE");
  });

  it("a machine without a compiler", async () => {
    const error = await failing((root) => ({
      wheel: fakeWheel(root, { version: "2.20.1" }),
      environment: { ...process.env, XDG_CACHE_HOME: join(root, "cache"), CXX: "no-such-compiler" },
    }));
    expect(error.code).toBe("MP_BACKEND_UNAVAILABLE");
    expect(error.message).toContain('"no-such-compiler"');
    expect(error.message).toContain("apt-get install g++");
  });

  it("a compiler that fails, with its first complaint", async () => {
    const error = await failing((root) => {
      const path = join(root, "failing-c++");
      writeFileSync(
        path,
        "#!/bin/sh\necho 'In file included' >&2\necho 'x.cc:1:2: error: no C++17' >&2\nexit 1\n",
        {
          mode: 0o755,
        },
      );
      return {
        wheel: fakeWheel(root, { version: "2.20.1" }),
        environment: { ...process.env, XDG_CACHE_HOME: join(root, "cache"), CXX: path },
      };
    });
    expect(error.code).toBe("MP_BACKEND_UNAVAILABLE");
    expect(error.message).toContain("x.cc:1:2: error: no C++17");
  });

  it.each([
    [{ broken: true }, "undefined symbol: TF_NewStatus"],
    [{ wrong: true }, "gave 0, 0, 0, 0"],
  ])("an addon that does not work when tried: %o", async (extra, text) => {
    const error = await failing((root) => ({
      wheel: fakeWheel(root, { version: "2.20.1" }),
      environment: { ...process.env, XDG_CACHE_HOME: join(root, "cache"), CXX: fakeCompiler(root, extra) },
    }));
    expect(error.code).toBe("MP_BACKEND_UNAVAILABLE");
    expect(error.message).toContain(text);
  });

  it("a folder that may not be written, with the path", async () => {
    const error = await failing((root) => {
      writeFileSync(join(root, "file"), "");
      return { environment: { ...process.env, XDG_CACHE_HOME: join(root, "file") } };
    });
    expect(error.code).toBe("MP_IO");
    expect(error.message).toContain("file");
  });

  it("a project without tfjs-node", async () => {
    const { options } = project();
    const error = await failure(() => install({ ...options, workingDirectory: scratch() }, quiet));
    expect(error.code).toBe("MP_BACKEND_UNAVAILABLE");
    expect(error.message).toContain("npm install --ignore-scripts @tensorflow/tfjs-node");
  });

  it("a folder that is no tfjs-node", async () => {
    const { options } = project();
    const error = await failure(() => install({ ...options, folder: "." }, quiet));
    expect(error.code).toBe("MP_INVALID_ARGUMENT");
    expect(error.message).toContain("--package");
  });

  it("a package without its sources", async () => {
    const { options, folder } = project();
    rmSync(join(folder, "binding", "tfjs_backend.cc"));
    const error = await failure(() => install(options, quiet));
    expect(error.message).toContain("tfjs_backend.cc");
    expect(existsSync(join(folder, "deps"))).toBe(false);
  });

  it.each([
    [{ platform: "darwin", arch: "arm64", glibc: undefined }, "darwin/arm64"],
    [{ platform: "win32", arch: "x64", glibc: undefined }, "WSL 2"],
    [{ platform: "linux", arch: "arm64", glibc: "2.36" }, "@mp/backend-ort"],
    [{ platform: "linux", arch: "x64", glibc: undefined }, "musl"],
  ])("the platform %o", async (platform, text) => {
    const error = await failure(() => install({ ...project().options, platform }, quiet));
    expect(error.code).toBe("MP_BACKEND_UNAVAILABLE");
    expect(error.message).toContain(text);
  });
});

describe("check", () => {
  it("changes nothing and says what is missing", async () => {
    const { options, folder } = project();
    const error = await failure(() => check(options, quiet));
    expect(error.message).toMatch(/put it there with: node \S+\/bin\/mp-libtensorflow\.js --package \S+$/);
    expect(readdirSync(folder).sort()).toEqual(["binding", "index.js", "package.json"]);
  });

  it("fails where a GPU is asked for and none is seen", async () => {
    const { options } = project();
    await install(options, quiet);
    const error = await failure(() => check({ ...options, device: "cuda" }, quiet));
    expect(error.message).toContain("computes on the CPU");
  });
});
