import { float32 } from "@mp/core";
import { reference } from "@mp/core/reference";
import { describe, expect, it } from "vitest";
import { hollowBackend, timeBackend } from "./backend-wrappers.js";
import { tinyModel } from "./scenarios/tiny-model.js";

describe("timedBackend", () => {
  it("times what a training compiles and runs, and changes nothing", async () => {
    const { backend, timings } = timeBackend(await reference());
    const training = await tinyModel().train(backend, float32());
    const bare = await tinyModel().train(await reference(), float32());
    const runs = timings.runMilliseconds.length;
    for (let step = 0; step < 3; step++) expect(await training.step()).toEqual(await bare.step());
    expect(timings.runMilliseconds.length - runs).toBe(3);
    expect(timings.compileMilliseconds.every((time) => time >= 0)).toBe(true);
  });
});

describe("hollowBackend", () => {
  it("lets a training step, commit and return without computing", async () => {
    const training = await tinyModel().train(hollowBackend(await reference()), float32());
    for (let step = 0; step < 3; step++) {
      expect(await training.step()).toMatchObject({ loss: 0, applied: true, retries: 0 });
    }
  });
});
