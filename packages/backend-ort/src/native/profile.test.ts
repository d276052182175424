import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ValueType } from "@mp/graph";
import { describe, expect, it, vi } from "vitest";
import { modelBytes } from "../../test/onnx-bytes.js";
import { parseProfile, profileRun } from "./profile.js";
import { openRuntime } from "./runtime.js";

const SQUARE: ValueType = { dtype: "f32", shape: [64, 64] };

describe("profileRun", () => {
  it("names the nodes by our names and leaves no file behind", async () => {
    const runtime = await openRuntime();
    const session = await runtime.createSession(
      modelBytes({
        nodes: [
          { op: "MatMul", inputs: ["x", "x"], outputs: ["m"], name: "encoder/layer0/matMul" },
          { op: "Relu", inputs: ["m"], outputs: ["y"], name: "encoder/relu_kernel_time" },
        ],
        inputs: { x: SQUARE },
        outputs: { y: SQUARE },
      }),
    );
    const binding = runtime.bind(session);
    binding.bindInput("x", runtime.allocate(SQUARE));
    binding.bindOutput("y", runtime.allocate(SQUARE));
    // Other processes leave files in the system's folder.
    const folder = mkdtempSync(join(tmpdir(), "mp-profiles-"));
    vi.stubEnv("TMPDIR", folder);
    const first = await profileRun(binding);
    const second = await profileRun(binding);
    for (const events of [first, second]) {
      expect(events.map(({ node, op, provider }) => [node, op, provider])).toEqual([
        ["encoder/layer0/matMul", "MatMul", "CPUExecutionProvider"],
        ["encoder/relu_kernel_time", "Relu", "CPUExecutionProvider"],
      ]);
      expect(events.every(({ microseconds }) => microseconds >= 0)).toBe(true);
      expect(events[0]?.arenaBytes).toBeGreaterThanOrEqual(64 * 64 * 4);
    }
    expect(readdirSync(folder)).toEqual([]);
    rmSync(folder, { recursive: true });
    await runtime.dispose();
  });
});

describe("parseProfile", () => {
  const entry = (over: object) => ({ cat: "Node", name: "a_kernel_time", ts: 1, dur: 2, args: {}, ...over });

  it("keeps node executions in the order in which they began", () => {
    const text = JSON.stringify([
      entry({ name: "late_kernel_time", ts: 9 }),
      entry({ cat: "Session", name: "model_run" }),
      entry({ name: "early_fence_before" }),
      entry({ name: "early_kernel_time", args: { op_name: "Add" } }),
    ]);
    expect(parseProfile(text).map(({ node, op }) => [node, op])).toEqual([
      ["early", "Add"],
      ["late", ""],
    ]);
  });

  it("takes the times of a GPU's programs where there are any", () => {
    const onGpu = (name: string, ts: number, dur: number) => entry({ cat: "Api", name, ts, dur });
    const events = parseProfile(
      JSON.stringify([
        entry({ name: "a & b_kernel_time", args: { op_name: "Softmax" } }),
        onGpu("a & b&Softmax&Softmax", 7, 40),
        onGpu("c&ReduceSum&ReduceOnce", 5, 3),
        entry({ cat: "Api", name: "vkQueueSubmit" }),
      ]),
    );
    expect(events.map(({ node, op, microseconds }) => [node, op, microseconds])).toEqual([
      ["c", "ReduceSum", 3],
      ["a & b", "Softmax", 40],
    ]);
  });

  it.each(["", "{}", "[", JSON.stringify([entry({ dur: "2" })])])("is MP_PARSE for %s", (text) => {
    expect(() => parseProfile(text)).toThrow(expect.objectContaining({ code: "MP_PARSE" }));
  });
});
