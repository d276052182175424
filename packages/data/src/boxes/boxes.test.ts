import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MpError } from "@mp/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cocoBoxes } from "./coco.js";
import { vocBoxes } from "./voc.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-boxes-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function refusal(reading: Promise<unknown>): Promise<MpError> {
  const error = await reading.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (MpError.is(error)) return error;
  throw new Error(`expected an MpError, got ${String(error)}`);
}

interface Annotated {
  readonly name?: string;
  readonly box?: readonly (number | string)[];
  readonly difficult?: number;
}

const object = ({ name = "dog", box = [1, 1, 5, 5], difficult = 0 }: Annotated): string =>
  `<object><name>${name}</name><pose>Left</pose><difficult>${difficult}</difficult><bndbox><xmin>${box[0]}</xmin><ymin>${box[1]}</ymin><xmax>${box[2]}</xmax><ymax>${box[3]}</ymax></bndbox></object>`;

const annotation = (objects: readonly Annotated[], { file = "7.jpg", width = "100" } = {}): string =>
  `<?xml version="1.0"?>\n<annotation>\n<folder>VOC2007</folder><filename>${file}</filename>\n<size><width>${width}</width><height>50</height><depth>3</depth></size>\n${objects.map(object).join("\n")}\n</annotation>`;

describe("vocBoxes", () => {
  const write = (text: string, name = "7.xml") => writeFile(join(folder, name), text);

  it("counts pixels from 0, clips at the image's edge and numbers classes by name", async () => {
    await write(
      annotation([{ box: [1, 1, 100, 50] }, { name: "cat", box: [90.5, 40, 120, 60], difficult: 1 }]),
    );
    await write(annotation([], { file: "8.jpg" }), "8.xml");
    const { images, classes, dropped } = await vocBoxes(folder);
    expect(classes).toEqual(["cat", "dog"]);
    expect(images[0]).toEqual({
      file: "7.jpg",
      width: 100,
      height: 50,
      boxes: [
        { label: 1, box: [0, 0, 100, 50], isIgnored: false },
        { label: 0, box: [89.5, 39, 100, 50], isIgnored: true },
      ],
    });
    expect([images[1]?.boxes, dropped]).toEqual([[], 0]);
    expect((await refusal(vocBoxes(folder, ["dog"]))).message).toMatch(
      /an object is a cat, which is none of dog/,
    );
  });

  it("drops boxes without a pixel inside, and counts them", async () => {
    await write(annotation([{ box: [200, 1, 210, 9] }, { box: [9, 9, 3, 3] }, {}]));
    const { images, dropped } = await vocBoxes(folder);
    expect([images[0]?.boxes.length, dropped]).toEqual([1, 2]);
  });

  it.each([
    ["cut off", annotation([{}]).slice(0, 150), /no sound XML in line \d/],
    ["not an annotation", "<html></html>", /has no annotation/],
    ["no size", "<annotation><filename>a</filename></annotation>", /has no size/],
    ["an absurd size", annotation([], { width: "1e9" }), /width is an integer of 1 to 65536, got 1000000000/],
    ["a box of words", annotation([{ box: ["a", 1, 2, 3] }]), /four finite numbers/],
    ["an empty coordinate", annotation([{ box: ["", 1, 2, 3] }]), /four finite numbers/],
    ["no name", annotation([{ name: "" }]), /object 0 has no name/],
    ["a path out of the folder", annotation([], { file: "../../etc/passwd" }), /a name inside its folder/],
    ["a file of a megabyte and more", annotation([]) + " ".repeat(2 ** 20), /the most is 1048576/],
  ])("refuses %s as MP_PARSE, naming the file", async (_, text, message) => {
    await write(text);
    const error = await refusal(vocBoxes(folder));
    expect([error.code, error.message]).toEqual(["MP_PARSE", expect.stringMatching(message)]);
    expect(error.message).toContain("7.xml");
  });

  it("never lets an entity grow", async () => {
    const levels = Array.from({ length: 20 }, (_, i) => `<!ENTITY a${i + 1} "&a${i};&a${i};&a${i};">`).join(
      "",
    );
    await write(`<!DOCTYPE x [<!ENTITY a0 "lol">${levels}]>${annotation([{ name: "&a20;" }])}`);
    const outcome = await vocBoxes(folder).catch((error: unknown) => error);
    if (MpError.is(outcome)) expect(outcome.code).toBe("MP_PARSE");
    else expect(JSON.stringify(outcome).length).toBeLessThan(1000);
  });
});

describe("cocoBoxes", () => {
  const coco = (changes: object = {}) => ({
    images: [{ id: 9, file_name: "a/9.jpg", width: 64, height: 32 }],
    categories: [
      { id: 90, name: "cup" },
      { id: 3, name: "car" },
    ],
    annotations: [{ image_id: 9, category_id: 90, bbox: [10, 10, 5.5, 4], iscrowd: 0 }],
    ...changes,
  });
  const path = (): string => join(folder, "instances.json");
  const write = (value: unknown) =>
    writeFile(path(), typeof value === "string" ? value : JSON.stringify(value));

  it("numbers categories by id and gives corners", async () => {
    const crowd = { image_id: 9, category_id: 3, bbox: [60, 30, 10, 10], iscrowd: 1 };
    const flat = { image_id: 9, category_id: 3, bbox: [5, 5, 0, 10] };
    await write(coco({ annotations: [...coco().annotations, crowd, flat] }));
    expect(await cocoBoxes(path())).toEqual({
      classes: ["car", "cup"],
      dropped: 1,
      images: [
        {
          file: "a/9.jpg",
          width: 64,
          height: 32,
          boxes: [
            { label: 1, box: [10, 10, 15.5, 14], isIgnored: false },
            { label: 0, box: [60, 30, 64, 32], isIgnored: true },
          ],
        },
      ],
    });
  });

  it.each([
    ["what is cut off", JSON.stringify({ images: [{}] }).slice(0, 12), /no JSON at character \d+/],
    ["a list", "[]", /no COCO file/],
    ["captions alone", {}, /has no list "categories"/],
    ["a number for an entry", coco({ annotations: [4] }), /annotations\[0\] is no object/],
    [
      "an unknown image",
      coco({ annotations: [{ image_id: 8, category_id: 3, bbox: [] }] }),
      /annotations\[0\] is of image 8/,
    ],
    ["an unknown category", coco({ annotations: [{ image_id: 9, category_id: 4, bbox: [] }] }), /category 4/],
    [
      "a box of three",
      coco({ annotations: [{ image_id: 9, category_id: 3, bbox: [1, 2, 3] }] }),
      /four finite numbers/,
    ],
    [
      "two images with one id",
      coco({ images: [...coco().images, coco().images[0]] }),
      /images\[\d\]\.id: \d+ is another's/,
    ],
    ["two categories with one id", coco({ categories: [{ id: 3 }, { id: 3 }] }), /two have one id/],
    ["an id that is text", coco({ categories: [{ id: "3" }] }), /categories\[0\]\.id is an integer, got "3"/],
    ["a size of 0", coco({ images: [{ id: 9, file_name: "a", width: 0, height: 1 }] }), /images\[0\]: width/],
    [
      "an absolute path",
      coco({ images: [{ id: 9, file_name: "/etc/x", width: 1, height: 1 }] }),
      /inside its folder/,
    ],
  ])("refuses %s as MP_PARSE, naming the file", async (_, value, message) => {
    await write(value);
    const error = await refusal(cocoBoxes(path()));
    expect([error.code, error.message]).toEqual(["MP_PARSE", expect.stringMatching(message)]);
    expect(error.message).toContain("instances.json");
  });

  it("tells a missing file", async () => {
    expect((await refusal(cocoBoxes(join(folder, "nothing.json")))).code).toBe("MP_IO");
  });
});
