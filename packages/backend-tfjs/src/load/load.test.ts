import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import util from "node:util";
import { failure, removeScratch, scratch } from "@mp/wheels/scratch";
import { afterEach, describe, expect, it, vi } from "vitest";
import { fakeTfjsNode } from "../../../libtensorflow/test/fixtures/fake-tfjs-node.js";
import { expectTensorFlow } from "./expect-tensorflow.js";
import { loadTfjsNode } from "./load-tfjs-node.js";
import { restoreNodeUtil } from "./restore-node-util.js";
import type { TfjsNode } from "./tfjs-node.js";

afterEach(removeScratch);

/** Does not compile unless `tfjs` accepts the type of the module that users import. */
export const accepted: (tf: typeof import("@tensorflow/tfjs-node")) => TfjsNode = (tf) => tf;

const calls = {
  createTensor() {},
  deleteTensor() {},
  tensorDataSync() {},
  loadSavedModel() {},
  deleteSavedModel() {},
  runSavedModel() {},
  isUsingGpuDevice: () => false,
};
const engine = { binding: { ...calls, TF_Version: "2.21.0" } };
const version = { tfjs: "4.22.0", "tfjs-node": "4.22.0" };

describe("expectTensorFlow", () => {
  it("takes what has the members, with the library's release and device", () => {
    const tf = { findBackend: () => engine, version };
    expect(expectTensorFlow(tf)).toMatchObject({ tf, version: "2.21.0", device: "cpu" });
  });

  it.each([
    [undefined, "got undefined"],
    [null, "got null"],
    ["tf", "got string"],
    [Promise.resolve({}), "await it"],
    [{}, "got an object with no members"],
    [{ default: { findBackend: () => engine } }, "default export"],
    [
      { findBackend: () => null, version: { tfjs: "4.22.0", "tfjs-core": "4.22.0" } },
      "got @tensorflow/tfjs 4.22.0 without its native engine",
    ],
  ])("refuses %o and names what to import", async (tf, text) => {
    const error = await failure(() => expectTensorFlow(tf));
    expect(error.code).toBe("MP_INVALID_ARGUMENT");
    expect(error.message).toContain(text);
    expect(error.message).toContain('import * as tf from "@tensorflow/tfjs-node"');
  });

  it("names what an older tfjs-node lacks", async () => {
    const { runSavedModel: _, ...older } = engine.binding;
    const tf = { findBackend: () => ({ binding: older }), version: { "tfjs-node": "1.2.0" } };
    const error = await failure(() => expectTensorFlow(tf));
    expect(error.code).toBe("MP_SPEC_VERSION");
    expect(error.message).toContain("@tensorflow/tfjs-node 1.2.0 has no runSavedModel; use");
  });
});

describe("loadTfjsNode", () => {
  it("names the commands when the package is not installed", async () => {
    const error = await failure(() => loadTfjsNode({ searchFrom: [scratch()] }));
    expect(error.code).toBe("MP_BACKEND_UNAVAILABLE");
    expect(error.message).toMatch(
      /npm install --ignore-scripts @tensorflow\/tfjs-node && node \S+\/bin\/mp-libtensorflow\.js$/,
    );
  });

  it("names the command when the addon is missing", async () => {
    const root = scratch();
    fakeTfjsNode(root, "@tensorflow/tfjs-node-gpu");
    const error = await failure(() => loadTfjsNode({ device: "cuda", searchFrom: [root] }));
    expect(error.message).toContain("tfjs-node-gpu is installed without its native addon");
    expect(error.message).toMatch(/node \S+\/bin\/mp-libtensorflow\.js --cuda --package \S+tfjs-node-gpu$/);
  });

  it("says in one line why a package does not load", async () => {
    const root = scratch();
    const addon = join(fakeTfjsNode(root), "lib", "napi-v8", "tfjs_binding.node");
    mkdirSync(dirname(addon), { recursive: true });
    writeFileSync(addon, '{"broken":true}');
    const error = await failure(() => loadTfjsNode({ searchFrom: [root] }));
    expect(error.code).toBe("MP_BACKEND_UNAVAILABLE");
    expect(error.message).toContain("does not load (undefined symbol: TF_NewStatus); repair it with");
    expect(error.message).not.toContain("\n");
  });
});

describe("TF32", () => {
  /** The value of NVIDIA_TF32_OVERRIDE when a CUDA package is loaded; the load itself may fail. */
  async function overrideFor(options: { readonly tf32?: boolean; readonly device?: "cpu" }, set?: string) {
    const root = scratch();
    const addon = join(
      fakeTfjsNode(root, "@tensorflow/tfjs-node-gpu"),
      "lib",
      "napi-v8",
      "tfjs_binding.node",
    );
    mkdirSync(dirname(addon), { recursive: true });
    writeFileSync(addon, '{"broken":true}');
    vi.stubEnv("NVIDIA_TF32_OVERRIDE", set);
    try {
      await failure(() => loadTfjsNode({ device: "cuda", searchFrom: [root], ...options }));
      return process.env["NVIDIA_TF32_OVERRIDE"];
    } finally {
      vi.unstubAllEnvs();
    }
  }

  it("is off on CUDA, unless it is asked for or the environment decides", async () => {
    expect(await overrideFor({})).toBe("0");
    expect(await overrideFor({ tf32: true })).toBeUndefined();
    expect(await overrideFor({}, "1")).toBe("1");
    expect(await overrideFor({ device: "cpu" })).toBeUndefined();
  });
});

describe("restoreNodeUtil", () => {
  it("puts back what this Node lacks, as Node had it, and nothing else", () => {
    const target = util as unknown as Record<string, ((value: unknown) => boolean) | undefined>;
    const before = { isNullOrUndefined: target["isNullOrUndefined"], isArray: target["isArray"] };
    try {
      delete target["isNullOrUndefined"];
      delete target["isArray"];
      expect(restoreNodeUtil()).toEqual(["isNullOrUndefined", "isArray"]);
      expect([null, undefined, 0, ""].map((value) => target["isNullOrUndefined"]?.(value))).toEqual([
        true,
        true,
        false,
        false,
      ]);
      expect([[], {}, "a"].map((value) => target["isArray"]?.(value))).toEqual([true, false, false]);
      const [made] = [target["isArray"]];
      expect(restoreNodeUtil()).toEqual([]);
      expect(target["isArray"]).toBe(made);
    } finally {
      Object.assign(target, before);
    }
  });
});
