import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { refusal } from "../../test/refusal.js";
import { cifar10 } from "./cifar10.js";
import { type ImageSize, readImage } from "./decode-image.js";
import { type ImageFolderWarning, imageFolder } from "./image-folder.js";
import { readImageFiles } from "./read-image-files.js";
import { readImages } from "./read-images.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-images-"));
});
afterAll(() => rm(folder, { recursive: true }));

const flat = (width: number, height: number, [r, g, b]: readonly [number, number, number]) =>
  sharp({ create: { width, height, channels: 3, background: { r, g, b } } });

describe("readImage", () => {
  it("reads JPEG, PNG and WebP by channel, at the size asked for", async () => {
    const picture = flat(20, 10, [200, 100, 50]);
    await picture.png().toFile(join(folder, "a.png"));
    await picture.webp({ lossless: true }).toFile(join(folder, "a.webp"));
    await picture.jpeg({ quality: 100 }).toFile(join(folder, "a.jpg"));
    for (const [name, slack] of [
      ["a.png", 0],
      ["a.webp", 0],
      ["a.jpg", 3],
    ] as const) {
      const { shape, data } = await readImage(join(folder, name), { height: 2, width: 4 });
      expect(shape).toEqual([3, 2, 4]);
      const bytes = await readFile(join(folder, name));
      for (const given of [bytes, new Uint8Array(bytes)])
        expect(await readImage(given, { height: 2, width: 4 })).toEqual({ dtype: "u8", shape, data });
      for (const [index, value] of [200, 200, 200, 200, 200, 200, 200, 200, 100].entries()) {
        expect(Math.abs((data[index] ?? 0) - value)).toBeLessThanOrEqual(slack);
      }
      expect(Math.abs((data[23] ?? 0) - 50)).toBeLessThanOrEqual(slack);
    }
  });

  it("keeps every pixel of a picture of that size, gray ones in all channels", async () => {
    const bytes = Uint8Array.from({ length: 12 }, (_, index) => 20 * index);
    await sharp(bytes, { raw: { width: 2, height: 2, channels: 3 } })
      .png()
      .toFile(join(folder, "b.png"));
    const { data } = await readImage(join(folder, "b.png"), { height: 2, width: 2 });
    expect([...data]).toEqual([0, 60, 120, 180, 20, 80, 140, 200, 40, 100, 160, 220]);
    await sharp(bytes.slice(0, 4), { raw: { width: 2, height: 2, channels: 1 } })
      .png()
      .toFile(join(folder, "g.png"));
    const gray = await readImage(join(folder, "g.png"), { height: 2, width: 2 });
    expect([...gray.data]).toEqual([0, 20, 40, 60, 0, 20, 40, 60, 0, 20, 40, 60]);
    expect((await readImage(join(folder, "b.png"), { height: 2, width: 2, channels: 1 })).shape).toEqual([
      1, 2, 2,
    ]);
  });

  it("turns a photograph upright, or leaves its pixels as the file stores them, where boxes count", async () => {
    // Stored 4 wide and 2 high, red on the left; its EXIF orientation is a rotation by 90° clockwise.
    const stored = Buffer.from([0, 1].flatMap(() => [200, 0, 0, 200, 0, 0, 0, 0, 200, 0, 0, 200]));
    const path = join(folder, "turned.jpg");
    await sharp(stored, { raw: { width: 4, height: 2, channels: 3 } })
      .resize(32, 16, { kernel: "nearest" })
      .withMetadata({ orientation: 6 })
      .jpeg({ quality: 100, chromaSubsampling: "4:4:4" })
      .toFile(path);
    expect(await sharp(path).metadata()).toMatchObject({ width: 32, height: 16, orientation: 6 });
    const reds = async (size: ImageSize) =>
      [...(await readImage(path, size)).data.subarray(0, size.height * size.width)].map((red) => red > 100);
    const upright = { height: 4, width: 2 };
    expect(await reds(upright)).toEqual([true, true, true, true, false, false, false, false]);
    const asStored = { height: 2, width: 4, orientation: "stored" } as const;
    expect(await reds(asStored)).toEqual([true, true, false, false, true, true, false, false]);
    const { data } = await readImageFiles([path, path], asStored);
    expect([...data.subarray(24)]).toEqual([...(await readImage(path, asStored)).data]);
  });

  it("refuses what is no picture, is cut off or too large, and sizes that are none", async () => {
    await writeFile(join(folder, "x.png"), "<svg xmlns='http://www.w3.org/2000/svg'/>");
    const size = { height: 8, width: 8 };
    expect((await refusal(() => readImage(join(folder, "x.png"), size))).message).toMatch(
      /begins like no JPEG, PNG or WebP/,
    );
    const whole = await sharp(
      new Uint8Array(3 * 64 * 64).map((_, index) => (index * 7919) % 256),
      { raw: { width: 64, height: 64, channels: 3 } },
    )
      .png()
      .toBuffer();
    await writeFile(join(folder, "cut.png"), whole.subarray(0, whole.length / 2));
    expect((await refusal(() => readImage(join(folder, "cut.png"), size))).code).toBe("MP_PARSE");
    for (const bytes of [whole.subarray(0, whole.length / 2), whole.subarray(0, 3), new Uint8Array(0)])
      expect(await refusal(() => readImage(bytes, size))).toMatchObject({
        code: "MP_PARSE",
        message: expect.stringMatching(/^readImage: the image/),
      });
    // A header that claims 40 000 by 40 000 pixels, which must be refused before they are unpacked.
    const bomb = Buffer.from(whole);
    bomb.writeUInt32BE(40_000, 16);
    bomb.writeUInt32BE(40_000, 20);
    await writeFile(join(folder, "bomb.png"), bomb);
    expect((await refusal(() => readImage(join(folder, "bomb.png"), size))).code).toBe("MP_PARSE");
    expect((await refusal(() => readImage(join(folder, "none.png"), size))).code).toBe("MP_IO");
    expect((await refusal(() => readImage(join(folder, "b.png"), { height: 0, width: 8 }))).code).toBe(
      "MP_INVALID_ARGUMENT",
    );
  });
});

describe("imageFolder", () => {
  it("takes a class from each folder and keeps some pictures of each for the test", async () => {
    const root = join(folder, "set");
    const shades: readonly [string, number][] = [
      ["cat", 10],
      ["dog", 200],
    ];
    for (const [name, shade] of shades) {
      await mkdir(join(root, name), { recursive: true });
      for (let index = 0; index < 5; index++) {
        await flat(6, 6, [shade, shade, shade + index])
          .png()
          .toFile(join(root, name, `${index}.png`));
      }
    }
    const { train, test, classes } = await imageFolder(root, { height: 4, width: 4, testShare: 0.4 });
    expect(classes).toEqual(["cat", "dog"]);
    expect(train.x.shape).toEqual([6, 3, 4, 4]);
    expect(test.x.shape).toEqual([4, 3, 4, 4]);
    for (const { x, y } of [train, test]) {
      const reds = [...y.data].map((_, index) => x.data[index * 48]);
      expect(reds).toEqual([...y.data].map((label) => (label === 0 ? 10 : 200)));
    }
    expect(await readImages(root, { height: 4, width: 4, testShare: 0.4 })).toEqual({ train, test, classes });
    await writeFile(join(root, "dog", "bad.jpg"), "no picture");
    expect((await refusal(() => imageFolder(root, { height: 4, width: 4 }))).message).toMatch(
      /dog\/bad\.jpg/,
    );
  });

  it("reads folders that are split already, and refuses a class that was never taught", async () => {
    const root = join(folder, "split");
    for (const [place, shade] of [
      ["train/a", 1],
      ["train/b", 2],
      ["val/b", 3],
    ] as const) {
      await mkdir(join(root, place), { recursive: true });
      await flat(2, 2, [shade, 0, 0])
        .png()
        .toFile(join(root, place, "0.png"));
    }
    const { train, test } = await imageFolder(root, { height: 1, width: 1 });
    expect([[...train.y.data], [...test.y.data], test.x.data[0]]).toEqual([[0, 1], [1], 3]);
    await mkdir(join(root, "test"));
    const unlabeled = await imageFolder(root, { height: 1, width: 1 });
    expect([...unlabeled.test.y.data]).toEqual([1]);
    await mkdir(join(root, "val/c"));
    expect((await refusal(() => imageFolder(root, { height: 1, width: 1 }))).message).toMatch(
      /has the class c/,
    );
    expect((await refusal(() => imageFolder(join(root, "val/c"), { height: 1, width: 1 }))).code).toBe(
      "MP_IO",
    );
  });
});

it("a folder that has been split, but has no test, keeps a share of what it has", async () => {
  const root = join(folder, "train-alone");
  for (const name of ["a", "b"]) {
    await mkdir(join(root, "train", name), { recursive: true });
    for (const index of [0, 1])
      await flat(2, 2, [index, 0, 0])
        .png()
        .toFile(join(root, "train", name, `${index}.png`));
  }
  const { train, test, classes } = await imageFolder(root, { height: 1, width: 1 });
  expect(classes).toEqual(["a", "b"]);
  expect([[...train.y.data].sort(), [...test.y.data].sort()]).toEqual([
    [0, 1],
    [0, 1],
  ]);
});

it("links to folders are classes and parts of them, each read once, and none that leads back up", async () => {
  const root = join(folder, "linked");
  const elsewhere = join(folder, "elsewhere");
  await mkdir(join(elsewhere, "more"), { recursive: true });
  await mkdir(join(root, "a"), { recursive: true });
  for (const [index, place] of [join(root, "a"), join(elsewhere, "more"), elsewhere].entries())
    for (const name of ["0.png", "1.png"]) await flat(2, 2, [index, 0, 0]).png().toFile(join(place, name));
  await symlink(elsewhere, join(root, "b"));
  await symlink("..", join(elsewhere, "more", "again"));
  await symlink(join(elsewhere, "more"), join(elsewhere, "other"));
  await symlink(root, join(root, "c"));
  await symlink(join(root, "nowhere"), join(root, "d"));
  const { train, test, classes } = await imageFolder(root, { height: 1, width: 1 });
  expect(classes).toEqual(["a", "b"]);
  expect([...train.y.data, ...test.y.data].sort()).toEqual([0, 0, 1, 1, 1, 1]);
  await mkdir(join(root, "notes"));
  const { code, message } = await refusal(() => imageFolder(root, { height: 1, width: 1 }));
  expect([code, message]).toEqual([
    "MP_IO",
    expect.stringMatching(/linked\/notes: has no .* would be a class/),
  ]);
});

describe("cifar10", () => {
  const record = (label: number, shade: number): Buffer =>
    Buffer.concat([Buffer.of(label), Buffer.alloc(3072, shade)]);

  it("reads the batches that are there, in order", async () => {
    const root = join(folder, "cifar", "cifar-10-batches-bin");
    await mkdir(root, { recursive: true });
    await writeFile(join(root, "data_batch_1.bin"), Buffer.concat([record(3, 30), record(9, 90)]));
    await writeFile(join(root, "data_batch_2.bin"), record(0, 5));
    await writeFile(join(root, "test_batch.bin"), record(1, 11));
    const { train, test, classes } = await cifar10(join(folder, "cifar"));
    expect(train.x.shape).toEqual([3, 3, 32, 32]);
    expect([...train.y.data]).toEqual([3, 9, 0]);
    expect([0, 1, 2].map((index) => train.x.data[index * 3072 + 3071])).toEqual([30, 90, 5]);
    expect([[...test.y.data], classes[1]]).toEqual([[1], "automobile"]);
    expect((await readImages(join(folder, "cifar"), { height: 1, width: 1 })).train).toEqual(train);
  });

  it("refuses files that are cut off and labels beyond 9, naming the byte", async () => {
    const root = join(folder, "cifar", "cifar-10-batches-bin");
    await writeFile(
      join(root, "data_batch_2.bin"),
      Buffer.concat([record(0, 5), record(1, 1).subarray(0, 100)]),
    );
    expect((await refusal(() => cifar10(root))).details).toMatchObject({ offset: 3073 });
    await writeFile(join(root, "data_batch_2.bin"), Buffer.concat([record(0, 5), record(17, 1)]));
    expect((await refusal(() => cifar10(root))).message).toMatch(/label 17 at byte 3073/);
    await writeFile(join(root, "data_batch_2.bin"), "");
    expect((await refusal(() => cifar10(root))).code).toBe("MP_PARSE");
    await rm(join(root, "data_batch_1.bin"));
    await rm(join(root, "data_batch_2.bin"));
    expect((await refusal(() => cifar10(root))).code).toBe("MP_IO");
  });
});

describe("files that are left out", () => {
  const size = { height: 2, width: 2 };
  const tree = async (name: string, files: readonly string[]): Promise<string> => {
    const root = join(folder, name);
    for (const file of files) {
      await mkdir(join(root, file, ".."), { recursive: true });
      const isPicture = /\.(png|JPG|webp)$/.test(file);
      await writeFile(join(root, file), isPicture ? await flat(2, 2, [9, 9, 9]).png().toBuffer() : "text");
    }
    return root;
  };
  const read = ["a/1.png", "a/2.png", "a/more/3.JPG", "b/1.webp", "b/2.png"];
  const others = ["a/4.gif", "a/more/notes.txt", "b/5.tiff", "labels.csv"];

  it("are counted and named", async () => {
    const root = await tree("mixed", [...read, ...others, ".hidden/x.gif", "a/.DS_Store"]);
    const warnings: ImageFolderWarning[] = [];
    const onWarning = (warning: ImageFolderWarning) => warnings.push(warning);
    const { train, test } = await imageFolder(root, { ...size, onWarning });
    expect((train.x.shape[0] ?? 0) + (test.x.shape[0] ?? 0)).toBe(read.length);
    expect(warnings).toEqual([
      {
        message: `imageFolder: leaves out 4 files of ${root}, no .jpg, .jpeg, .png, .webp in the folder of a class: ${others.join(", ")}`,
        files: others,
      },
    ]);
    await readImages(root, { ...size, onWarning });
    expect(warnings).toHaveLength(2);
  });

  it("may lie beside the classes, or in folders that are none", async () => {
    const parts = [
      "train/a/1.png",
      "train/b/1.png",
      "test/a/1.png",
      "val/a/1.png",
      "train/loose.png",
      "x/y/1.png",
    ];
    const root = await tree("parts", parts);
    const warnings: ImageFolderWarning[] = [];
    await imageFolder(root, { ...size, onWarning: (warning) => warnings.push(warning) });
    expect(warnings[0]?.files).toEqual(["train/loose.png", "val/a/1.png", "x/y/1.png"]);
  });

  it("are none in a folder of pictures alone", async () => {
    const root = await tree("clean", read);
    await imageFolder(root, { ...size, onWarning: ({ message }) => expect.fail(message) });
  });
});

it("crops to the middle, or stretches by fill", async () => {
  const path = join(folder, "wide.png");
  // Red, green and blue thirds.
  const row = [200, 0, 0, 0, 200, 0, 0, 0, 200].flatMap((_, at, all) =>
    at % 3 === 0
      ? Array(30)
          .fill(all.slice(at, at + 3))
          .flat()
      : [],
  );
  await sharp(Buffer.from(Array(30).fill(row).flat()), { raw: { width: 90, height: 30, channels: 3 } })
    .png()
    .toFile(path);
  const green = async (fit?: "cover" | "fill") => {
    const { data } = await readImage(path, { height: 3, width: 3, ...(fit === undefined ? {} : { fit }) });
    return [...data.subarray(9, 12)].map((value) => value > 100);
  };
  expect(await green()).toEqual([true, true, true]);
  expect(await green("cover")).toEqual([true, true, true]);
  expect(await green("fill")).toEqual([false, true, false]);
});
