import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { appRunner } from "../../../packages/cli/test/app-runner.mjs";
import { makeTiny } from "./tiny.js";

const app = appRunner(new URL("../dist/main.js", import.meta.url));
const { folder, run, result } = app;
/** The tiny model without the pretraining that the app gives it, and its texts. */
let untrained: readonly string[] = [];
beforeAll(async () => {
  const model = join(folder, "model");
  await mkdir(model);
  const { train, heldOut } = await makeTiny(model, 0);
  untrained = ["--model", model, "--texts", train, "--held-out", heldOut];
});
afterAll(app.dispose);

const at = (name: string) => join(folder, name);

it("lowers the perplexity of held-out texts", async () => {
  const { metric, details } = await result("--steps", "40", "--adapter", at("adapter"));
  expect(metric.value).toBeLessThan(details.before / 2);
  expect(JSON.parse(await readFile(at("adapter/adapter_config.json"), "utf8")).peft_type).toBe("LORA");
  expect((await readdir(at("adapter"))).sort()).toEqual(["adapter_config.json", "adapter_model.safetensors"]);
});

it("resumes with the same bits", async () => {
  const whole = await result(...untrained, "--steps", "12");
  await result(...untrained, "--steps", "5", "--save", at("half.safetensors"));
  const resumed = await result(...untrained, "--steps", "12", "--resume", at("half.safetensors"));
  expect(whole.loss).toHaveLength(12);
  expect(resumed.metric.value).toBe(whole.metric.value);
  expect(resumed.loss).toEqual(whole.loss.slice(5));
});

it.each(["f32", "nf4"])(
  "plans the peak of a step with a base in %s within 15 %% of the measured",
  async (base) => {
    const { stdout } = await run("--memory", "--base", base);
    const planned = 2 ** 20 * Number(/peak of a step +([\d.]+)/.exec(stdout)?.[1]);
    const { peakMemoryBytes } = await result(...untrained, "--base", base, "--steps", "1");
    expect(Math.abs(planned / peakMemoryBytes - 1)).toBeLessThan(0.15);
  },
);

it("learns by products of 8 bits, also with the frozen base", async () => {
  const { loss: plain } = await result(...untrained, "--precision", "float32", "--steps", "8");
  const { loss: quantized } = await result(...untrained, "--precision", "mxfp8", "--steps", "8");
  // Adapters start with zeros, so that only the products of the base can change the first loss.
  expect(quantized[0]).not.toBe(plain[0]);
  expect(Math.abs(quantized[7] - plain[7])).toBeLessThan(0.05);
});

it("says what a step needs, and refuses a row that has no text by file and line", async () => {
  const { stdout } = await run("--memory", "--base", "bf16");
  expect(stdout).toMatch(/base \(bf16\), frozen +0\.\d[\s\S]*adapters +0\.\d/);
  const texts = join(folder, "texts.jsonl");
  await writeFile(texts, '{"text":"a"}\n{"txt":"b"}\n');
  const refusal = async (...flags: readonly string[]) => {
    const { status, stderr } = await run(...untrained, ...flags);
    expect(status).not.toBe(0);
    return stderr;
  };
  expect(await refusal("--texts", texts, "--steps", "1")).toMatch(/texts\.jsonl: row 2 \(line 2\)/);
  for (const place of [texts, "/proc/below"])
    expect(await refusal("--steps", "1000000", "--adapter", place)).toMatch(
      /--adapter .*: saveAdapter: cannot make the folder .*; pass a path where no file is and where you may write/,
    );
});
