import { reference } from "@mp/graph/reference";
import { beforeAll, expect, it } from "vitest";
import { ortWeb } from "../../src/index.js";
import { openDevice } from "../../src/open-device.js";
import { batchOf, classifier, stepsOf, train } from "../train.js";
import { installWebgpu } from "./dawn.js";

beforeAll(installWebgpu);

it.each(["float32", "mixed_float16"] as const)("trains in %s as the reference does", async (precision) => {
  const { losses, left } = await train(await ortWeb(), precision);
  const expected = await train(await reference(), precision);
  for (const [step, loss] of losses.entries())
    expect(loss, `step ${step}`).toBeCloseTo(expected.losses[step] as number, 3);
  expect(left).toEqual({ live: 0, bytes: 0 });
});

it("says that the GPU was lost, and the next backend goes on from the checkpoint", async () => {
  const { device } = await openDevice(undefined);
  const backend = await ortWeb({ device });
  const training = await classifier(backend, "float32");
  await stepsOf(training, 0, 3);
  const checkpoint = await training.saveBytes();
  const [expected] = await stepsOf(training, 3, 4);
  device.destroy();
  await device.lost;
  await expect(training.step(batchOf(4))).rejects.toMatchObject({
    code: "MP_BACKEND_FAILED",
    message: expect.stringContaining("was lost"),
    details: { lost: "destroyed" },
  });
  await training.dispose();
  await backend.dispose();

  const next = await ortWeb();
  const resumed = await classifier(next, "float32");
  await resumed.loadBytes(checkpoint);
  expect(await stepsOf(resumed, 3, 4)).toEqual([expected]);
  await resumed.dispose();
  await next.dispose();
});

it("shares a device, and leaves it open", async () => {
  const { device } = await openDevice(undefined);
  await train(await ortWeb({ device }), "float32", 2);
  const buffer = device.createBuffer({ size: 16, usage: GPUBufferUsage.COPY_DST });
  buffer.destroy();
  device.pushErrorScope("validation");
  device.queue.submit([device.createCommandEncoder().finish()]);
  expect(await device.popErrorScope()).toBeNull();
  device.destroy();
});
