import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { LossWatch } from "./device-loss.js";

/** A device that the test can lose. */
function fragile(): { readonly watch: LossWatch; readonly lose: () => Promise<void> } {
  let lose: (info: GPUDeviceLostInfo) => void = () => undefined;
  const lost = new Promise<GPUDeviceLostInfo>((resolve) => {
    lose = resolve;
  });
  return {
    watch: new LossWatch({ lost } as GPUDevice),
    lose: async () => {
      lose({ reason: "unknown", message: "driver crashed" } as GPUDeviceLostInfo);
      await lost;
    },
  };
}

const LOST = { code: "MP_BACKEND_FAILED", details: { lost: "unknown" } };

it("ends work that the device will never finish", async () => {
  const { watch, lose } = fragile();
  const run = watch.orLost(new Promise(() => undefined));
  await lose();
  await expect(run).rejects.toMatchObject(LOST);
  await expect(watch.orLost(Promise.resolve(1))).rejects.toMatchObject(LOST);
  expect(() => watch.expectAlive()).toThrow("driver crashed");
});

it("gives the loss as the reason of work that failed just before", async () => {
  const { watch, lose } = fragile();
  const run = watch.orLost(Promise.reject(new Error("mapAsync was aborted")));
  const losing = lose();
  await expect(run).rejects.toMatchObject(LOST);
  await losing;
});

it("passes results and errors on", async () => {
  const { watch } = fragile();
  await expect(watch.orLost(Promise.resolve(3))).resolves.toBe(3);
  await expect(watch.orLost(Promise.reject(new Error("no kernel")))).rejects.toThrow("no kernel");
});

it("keeps no result while the device lives", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const { watch } = fragile();
  const results = await Promise.all(
    Array.from({ length: 50 }, async () => new WeakRef(await watch.orLost(Promise.resolve({})))),
  );
  // A WeakRef keeps its target until the current turn of the event loop has ended.
  await new Promise((resolve) => setTimeout(resolve, 0));
  collect();
  expect(results.filter((result) => result.deref() !== undefined).length).toBeLessThan(3);
});
