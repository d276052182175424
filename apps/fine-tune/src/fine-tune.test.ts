import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { makeTiny } from "./tiny.js";

const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const run = (...flags: string[]) => promisify(execFile)(process.execPath, [MAIN, ...flags]);
let folder = "";
/** The tiny model without the pretraining that the app gives it, and its texts. */
let untrained: readonly string[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "fine-tune-test-"));
  const model = join(folder, "model");
  await mkdir(model);
  const { train, heldOut } = await makeTiny(model, 0);
  untrained = ["--model", model, "--texts", train, "--held-out", heldOut];
});
afterAll(() => rm(folder, { recursive: true }));

const resultAt = async (path: string) => JSON.parse(await readFile(path, "utf8"));

const at = (name: string) => join(folder, name);

it("lowers the perplexity of held-out texts", async () => {
  await run("--steps", "40", "--json", at("tuned.json"), "--adapter", at("adapter"));
  const { metric, details } = await resultAt(at("tuned.json"));
  expect(metric.value).toBeLessThan(details.before / 2);
  expect((await resultAt(at("adapter/adapter_config.json"))).peft_type).toBe("LORA");
  expect((await readdir(at("adapter"))).sort()).toEqual(["adapter_config.json", "adapter_model.safetensors"]);
});

it("resumes with the same bits", async () => {
  await run(...untrained, "--steps", "12", "--json", at("whole.json"));
  await run(...untrained, "--steps", "5", "--save", at("half.safetensors"));
  await run(...untrained, "--steps", "12", "--resume", at("half.safetensors"), "--json", at("resumed.json"));
  const [whole, resumed] = [await resultAt(at("whole.json")), await resultAt(at("resumed.json"))];
  expect(whole.loss).toHaveLength(12);
  expect(resumed.metric.value).toBe(whole.metric.value);
  expect(resumed.loss).toEqual(whole.loss.slice(5));
});

it.each(["f32", "nf4"])(
  "plans the peak of a step with a base in %s within 15 %% of the measured",
  async (base) => {
    const { stdout } = await run("--memory", "--base", base);
    const planned = 2 ** 20 * Number(/peak of a step +([\d.]+)/.exec(stdout)?.[1]);
    const path = join(folder, `${base}.json`);
    await run(...untrained, "--base", base, "--steps", "1", "--json", path);
    expect(Math.abs(planned / (await resultAt(path)).peakMemoryBytes - 1)).toBeLessThan(0.15);
  },
);

it("learns by products of 8 bits, also with the frozen base", async () => {
  const losses = await Promise.all(
    ["float32", "mxfp8"].map(async (name) => {
      await run(...untrained, "--precision", name, "--steps", "8", "--json", at(`${name}.json`));
      return (await resultAt(at(`${name}.json`))).loss;
    }),
  );
  const [plain, quantized] = losses;
  // Adapters start with zeros, so that only the products of the base can change the first loss.
  expect(quantized[0]).not.toBe(plain[0]);
  expect(Math.abs(quantized[7] - plain[7])).toBeLessThan(0.05);
});

it("says what a step needs, and refuses a row that has no text by file and line", async () => {
  const { stdout } = await run("--memory", "--base", "bf16");
  expect(stdout).toMatch(/base \(bf16\), frozen +0\.\d[\s\S]*adapters +0\.\d/);
  const texts = join(folder, "texts.jsonl");
  await writeFile(texts, '{"text":"a"}\n{"txt":"b"}\n');
  await expect(run(...untrained, "--texts", texts, "--steps", "1")).rejects.toThrow(
    /texts\.jsonl: row 2 \(line 2\)/,
  );
  for (const place of [texts, "/proc/below"])
    await expect(run(...untrained, "--steps", "1000000", "--adapter", place)).rejects.toThrow(
      /--adapter .*: saveAdapter: cannot make the folder .*; pass a path where no file is and where you may write/,
    );
});
