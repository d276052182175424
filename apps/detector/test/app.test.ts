// Tests the app as users call it: what it learns, that a resumed run continues with the same bits, what it draws, and
// what it refuses.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, describe, expect, it } from "vitest";
import { appRunner } from "../../../packages/cli/test/app-runner.mjs";

const SMALL = ["--width", "4", "--batch", "4", "--size", "32", "--train-images", "24", "--test-images", "10"];

const app = appRunner(new URL("../dist/main.js", import.meta.url), SMALL);
afterAll(app.dispose);
const { folder, run, result } = app;

describe("detector", () => {
  it("learns to find plain figures, far above the untrained network", async () => {
    const size = ["--width", "8", "--batch", "8", "--steps", "150", "--optimizer", "adam"];
    const images = ["--difficulty", "0", "--train-images", "200", "--test-images", "40"];
    const { metric, details, loss } = await result(...size, ...images);
    expect(metric.name).toBe("mAP at IoU 0.5");
    expect(metric.value).toBeGreaterThan(3 * details.untrained);
    expect(metric.value).toBeGreaterThan(0.05);
    expect(loss.at(-1)).toBeLessThan(0.5 * loss[0]);
  });

  it("goes on bit for bit where Ctrl-C stopped it", async () => {
    const flags = ["--precision", "mixed_float16", "--steps", "20"];
    const whole = await result(...flags);
    const state = join(folder, "state.safetensors");
    const status = app.interrupted(...flags, "--save", state);
    expect([status, existsSync(state)]).toEqual([130, true]);
    const { loss, steps } = await result(...flags, "--resume", state);
    expect([steps, loss.length < 20]).toEqual([20, true]);
    expect(loss).toEqual(whole.loss.slice(-loss.length));
  });

  it("compares both precisions from one start, draws, and prints the histogram", async () => {
    const pictures = join(folder, "pictures");
    const flags = ["--precision", "mixed_float16", "--compare", "--histogram", "--draw", pictures];
    const { float32, mixed, stdout } = await result(...flags, "--steps", "3");
    expect(float32.loss[0]).toBeCloseTo(mixed.loss[0], 1);
    expect(float32.loss).not.toEqual(mixed.loss);
    expect(stdout).toMatch(/2\^-\d+ … 2\^-\d+ +\d/);
    expect(stdout).toMatch(/below 2\^-14.*below 2\^-24.*rounded to 0/);
    expect(readdirSync(pictures)).toHaveLength(8);
    expect(await sharp(join(pictures, "0.png")).metadata()).toMatchObject({ width: 512, format: "png" });
  });

  it("trains the same in float32 with a loss divided by a power of two", async () => {
    for (const optimizer of ["sgd", "adam"]) {
      const flags = ["--precision", "float32", "--steps", "3", "--optimizer", optimizer];
      const { loss } = await result(...flags, "--loss-divisor", "16384");
      const { loss: whole } = await result(...flags);
      expect(loss.map((value: number) => 16384 * value)).toEqual(whole);
    }
  });

  it("sweeps loss scales beside float32 and the dynamic one", async () => {
    const path = join(folder, "sweep.json");
    const { status, stdout } = await run(
      "--scales",
      "1,1024",
      "--seeds",
      "1",
      "--steps",
      "2",
      "--json",
      path,
    );
    expect(status).toBe(0);
    expect(stdout.match(/^(float32|scale 1|scale 1024|dynamic) /gm)).toHaveLength(4);
    const { scales, runs } = JSON.parse(readFileSync(path, "utf8"));
    expect(scales.map(({ metric }: { metric: unknown[] }) => metric.length)).toEqual([1, 1, 1, 1]);
    expect(runs.map(({ lossScale }: { lossScale: unknown }) => lossScale)).toEqual([
      "none",
      1,
      1024,
      "dynamic",
    ]);
    expect(scales[1].flushed[0]).toBeGreaterThanOrEqual(scales[2].flushed[0]);
  });

  it("reads a folder of Pascal VOC and one of COCO", async () => {
    const voc = join(folder, "voc");
    for (const name of ["Annotations", "JPEGImages"]) mkdirSync(join(voc, name), { recursive: true });
    const coco = join(folder, "coco");
    for (const name of ["annotations", "train2017", "val2017"])
      mkdirSync(join(coco, name), { recursive: true });
    const pictured = { create: { width: 60, height: 40, channels: 3, background: "#406080" } } as const;
    for (let index = 0; index < 10; index++) {
      const object = `<object><name>${index % 2 ? "cat" : "dog"}</name><difficult>${index % 3 ? 0 : 1}</difficult><bndbox><xmin>5</xmin><ymin>5</ymin><xmax>30</xmax><ymax>30</ymax></bndbox></object>`;
      writeFileSync(
        join(voc, "Annotations", `${index}.xml`),
        `<annotation><filename>${index}.jpg</filename><size><width>60</width><height>40</height></size>${object}</annotation>`,
      );
      const files = ["voc/JPEGImages", "coco/train2017", "coco/val2017"];
      for (const file of files)
        await sharp(pictured)
          .jpeg()
          .toFile(join(folder, file, `${index}.jpg`));
    }
    const ids = Array.from({ length: 10 }, (_, id) => id);
    const instances = JSON.stringify({
      images: ids.map((id) => ({ id, file_name: `${id}.jpg`, width: 60, height: 40 })),
      categories: [{ id: 7, name: "cup" }],
      annotations: ids.map((id) => ({ image_id: id, category_id: 7, bbox: [5, 5, 20, 20], iscrowd: 0 })),
    });
    for (const part of ["train", "val"])
      writeFileSync(join(coco, "annotations", `instances_${part}2017.json`), instances);
    const ofVoc = (await result("--data", voc, "--steps", "2")).details.data;
    expect(ofVoc).toMatchObject({ train: { images: 8 }, test: { images: 2 }, classes: ["cat", "dog"] });
    const ofCoco = (await result("--data", coco, "--steps", "2")).details.data;
    expect(ofCoco).toMatchObject({ train: { boxes: 10 }, test: { images: 10 }, classes: ["cup"] });
  });

  it("refuses what is wrong in one line with exit code 2", async () => {
    const accepted = await app.notRefused([
      ["--data", join(folder, "nowhere")],
      ["--size", "40"],
      ["--batch", "65"],
      ["--scales", "1,none"],
      ["--scales", "1", "--seeds", "9007199254740991"],
      ["--scales", "1", "--compare"],
      ["--seeds", "2"],
      ["--ablation", "--draw", folder],
      ["--scales", "1", "--precision", "mixed_bfloat16"],
      ["--half-reductions", "--precision", "float32"],
    ]);
    expect(accepted).toEqual([]);
  });
});
