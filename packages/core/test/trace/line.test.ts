import { MpError, type Tensor, tensor } from "@mp/graph";
import { add, argMax, concat, constant, mul, reduceMean, softmax, where } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { findUserLine, hideFromOrigins } from "../../../graph/src/trace/line.js";
import { batch, type SmallOptions, smallRun } from "../small-run.js";

const stack = (...locations: readonly string[]): string =>
  [
    "Error: refused (at /elsewhere/x.ts:1:1) of it",
    ...locations.map((location) => `    at ${location}`),
  ].join("\n");

describe("the user's line of a stack", () => {
  it("is the innermost one outside the SDK, whether its bundle is mapped back to sources or not", () => {
    const mine = "loss (file:///home/me/app/src/train.ts:12:7)";
    expect(findUserLine(stack("Object.apply (/opt/layers/dist/index.js:1:2)", mine))).toBe(
      "/opt/layers/dist/index.js:1:2",
    );
    hideFromOrigins("file:///opt/layers/dist/index.js");
    for (const inside of [
      "Object.apply (/opt/layers/dist/index.js:1:2)",
      "Object.apply (/opt/layers/src/dense.ts:24:60)",
      "file:///opt/layers/src/deep/down.ts:3:1",
      "node:internal/process/task_queues:95:5",
    ]) {
      expect(findUserLine(stack(inside, mine))).toBe("/home/me/app/src/train.ts:12:7");
    }
    expect(findUserLine(stack("f (/opt/layers/test/f.ts:1:2)", mine))).toBe("/opt/layers/test/f.ts:1:2");
  });

  it("is hidden by folder alone where that is neither src nor dist", () => {
    hideFromOrigins("file:///home/me/lib/layers/index.js");
    expect(findUserLine(stack("/home/me/lib/layers/a/b.js:1:2", "/home/me/lib/src/c.js:3:4"))).toBe(
      "/home/me/lib/src/c.js:3:4",
    );
  });
});

describe("a refusal inside a loss names the line that called, once", () => {
  type Parts = { readonly out: Tensor };
  const host = tensor(Float32Array.of(1), []) as unknown as Tensor;
  const mask = (x: Tensor): Tensor => constant(tensor(new Uint8Array(x.shape[0] ?? 0), [4], "bool"));
  const cases: readonly (readonly [string, (out: Tensor) => Tensor, code: string])[] = [
    ["operands of two dtypes", (out) => mul(out, argMax(out)), "MP_DTYPE_MISMATCH"],
    ["host data as an operand", (out) => add(out, host), "MP_INVALID_ARGUMENT"],
    ["host data", () => reduceMean(host), "MP_INVALID_ARGUMENT"],
    ["no tensor at all", () => add(1, 2), "MP_INVALID_ARGUMENT"],
    ["a condition that is no bool", (out) => where(out, out, 0), "MP_DTYPE_MISMATCH"],
    ["branches of two dtypes", (out) => where(mask(out), out, argMax(out)), "MP_DTYPE_MISMATCH"],
    ["a literal out of range", (out) => add(argMax(out), 2 ** 40), "MP_OUT_OF_RANGE"],
    ["an axis out of range", (out) => softmax(out, 7), "MP_INVALID_ARGUMENT"],
    ["nothing to join", () => concat([], 0), "MP_INVALID_ARGUMENT"],
  ];
  it.each(cases)("%s", async (_, wrong, code) => {
    const training = await smallRun({
      loss: (({ out }: Parts) => wrong(out)) as unknown as SmallOptions["loss"],
    });
    const failure: unknown = await training.step(batch(0)).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code,
      details: { line: expect.stringContaining("line.test.ts:") as string },
    });
    expect((failure as MpError).message.match(/\(at /g)).toHaveLength(1);
    expect((failure as MpError).message).toMatch(/\(at \/.*line\.test\.ts:\d+:\d+\)$/);
    const limit = Error.stackTraceLimit;
    await expect(training.predict(({ out }) => wrong(out), {})).rejects.toMatchObject({ code });
    expect(Error.stackTraceLimit).toBe(limit);
  });

  it("but an error that is none of ours is left alone", async () => {
    const mine = new Error("mine");
    const training = await smallRun({
      loss: () => {
        throw mine;
      },
    });
    await expect(training.step(batch(0))).rejects.toBe(mine);
    expect(MpError.is(mine)).toBe(false);
  });
});
