import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { progress } from "../src/index.js";
import { batches, smallRun } from "./small-run.js";

it("writes a line for each validation, with its loss and metrics", async () => {
  const training = await smallRun();
  const stream = new PassThrough();
  await training.fit(batches(3), {
    epochs: 2,
    validation: { data: batches(1, 7) },
    callbacks: [progress({ label: "small", stream: stream as unknown as NodeJS.WriteStream })],
  });
  const numbers = /, loss \d\.\d{4}, error \d\.\d{4}$/;
  const lines = String(stream.read()).split("\n");
  const validations = lines.filter((line) => line.startsWith("small: validation at step "));
  expect(validations.map((line) => line.replace(numbers, ""))).toEqual([
    "small: validation at step 3",
    "small: validation at step 6",
  ]);
  await training.dispose();
});
