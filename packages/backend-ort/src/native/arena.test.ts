import type { ValueType } from "@mp/graph";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { modelBytes } from "../../test/onnx-bytes.js";
import { arenaStats } from "./arena.js";
import { type NativeRuntime, openRuntime } from "./runtime.js";
import type { SessionOptions } from "./session.js";

let runtime: NativeRuntime;

beforeEach(async () => {
  runtime = await openRuntime();
});

afterEach(() => runtime.dispose());

/** Makes a session that needs two intermediates of `bytes` at once, and runs it once. */
async function holdingTwo(bytes: number, arena: SessionOptions["arena"]) {
  const type: ValueType = { dtype: "f32", shape: [bytes / 4] };
  const session = await runtime.createSession(
    modelBytes({
      nodes: [
        { op: "Sin", inputs: ["x"], outputs: ["a"] },
        { op: "Cos", inputs: ["x"], outputs: ["b"] },
        { op: "Add", inputs: ["a", "b"], outputs: ["y"] },
      ],
      inputs: { x: type },
      outputs: { y: type },
    }),
    arena === undefined ? {} : { arena },
  );
  const binding = runtime.bind(session);
  binding.bindInput("x", runtime.allocate(type));
  binding.bindOutput("y", runtime.allocate(type));
  binding.runSync();
  return session;
}

const MEBIBYTE = 2 ** 20;

describe("arenaStats", () => {
  it("reports a session's own peak", async () => {
    const small = arenaStats(await holdingTwo(MEBIBYTE, "own"));
    const large = arenaStats(await holdingTwo(4 * MEBIBYTE, "own"));
    expect(small).toMatchObject({ bytesInUse: 0, maxBytesInUse: 2 * MEBIBYTE });
    expect(large).toMatchObject({ bytesInUse: 0, maxBytesInUse: 8 * MEBIBYTE });
    expect(large?.reservedBytes).toBeGreaterThanOrEqual(8 * MEBIBYTE);
  });

  it("is one arena for all sessions that share it, with the largest one's peak", async () => {
    const large = await holdingTwo(8 * MEBIBYTE, undefined);
    const alone = arenaStats(large);
    const small = await holdingTwo(4 * MEBIBYTE, "shared");
    const together = arenaStats(small);
    expect(alone?.maxBytesInUse).toBe(16 * MEBIBYTE);
    expect(together?.maxBytesInUse).toBe(16 * MEBIBYTE);
    expect(together?.reservedBytes).toBe(alone?.reservedBytes);
    expect(arenaStats(large)).toEqual(together);
  });

  it("has nothing to say without an arena", async () => {
    expect(arenaStats(await holdingTwo(MEBIBYTE, "none"))).toBeUndefined();
  });
});
