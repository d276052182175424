import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MpError } from "@mp/core";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { refusal } from "../../test/refusal.js";
import { cocoBoxes } from "./coco.js";
import { vocBoxes } from "./voc.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-boxes-"));
});
afterAll(() => rm(folder, { recursive: true }));

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
    expect([images[1]?.boxes, dropped]).toEqual([[], []]);
    expect((await refusal(() => vocBoxes(folder, ["dog"]))).message).toMatch(
      /an object is a cat, which is none of dog/,
    );
  });

  it("drops boxes without a pixel inside, and says which and why", async () => {
    await write(annotation([{ box: [200, 1, 210, 9] }, { box: [9, 9, 3, 3] }, {}]));
    const { images, dropped } = await vocBoxes(folder);
    expect(images[0]?.boxes).toHaveLength(1);
    expect(dropped).toEqual([
      "7.xml: object 0: [200, 1, 210, 9] has nothing inside 100×50",
      "7.xml: object 1: [9, 9, 3, 3] has nothing inside 100×50",
    ]);
  });

  it.each([
    ["cut off", annotation([{}]).slice(0, 150), /no sound XML in line \d/],
    ["not an annotation", "<html></html>", /has no annotation/],
    ["no size", "<annotation><filename>a</filename></annotation>", /has no size/],
    [
      "an absurd size",
      annotation([], { width: "1e9" }),
      /width must be an integer from 1 to 65536, got 1000000000/,
    ],
    ["a box of words", annotation([{ box: ["a", 1, 2, 3] }]), /four finite numbers/],
    ["an empty coordinate", annotation([{ box: ["", 1, 2, 3] }]), /four finite numbers/],
    ["no name", annotation([{ name: "" }]), /object 0 has no name/],
    ["a path out of the folder", annotation([], { file: "../../etc/passwd" }), /a name inside its folder/],
    ["a file of a megabyte and more", annotation([]) + " ".repeat(2 ** 20), /the most is 1048576/],
  ])("refuses %s as MP_PARSE, naming the file", async (_, text, message) => {
    await write(text);
    const error = await refusal(() => vocBoxes(folder));
    expect([error.code, error.message]).toEqual(["MP_PARSE", expect.stringMatching(message)]);
    expect(error.message).toContain("7.xml");
  });

  it("reads what XML writes otherwise, once: entities, characters by number, and CDATA", async () => {
    for (const [written, name] of [
      ["Tom &amp; J&lt;", "Tom & J<"],
      ["caf&#233;&#xE9;", "caféé"],
      ["a&amp;lt;b", "a&lt;b"],
      ["<![CDATA[a & b]]>", "a & b"],
    ] as const) {
      await write(annotation([{ name: written }]));
      expect((await vocBoxes(folder)).classes).toEqual([name]);
    }
  });

  it("reads the encoding that a file names, and refuses what is not in it", async () => {
    const named = (encoding: string, text: string) =>
      text.replace('<?xml version="1.0"?>', `<?xml version="1.0" encoding="${encoding}"?>`);
    const text = annotation([{ name: "café" }], { file: "é.jpg" });
    const store = (bytes: Buffer) => writeFile(join(folder, "7.xml"), bytes);
    await store(Buffer.from(named("ISO-8859-1", text), "latin1"));
    const latin = await vocBoxes(folder);
    expect([latin.classes, latin.images[0]?.file]).toEqual([["café"], "é.jpg"]);
    await store(Buffer.from(`\ufeff${named("UTF-16", text)}`, "utf16le"));
    expect((await vocBoxes(folder)).classes).toEqual(["café"]);
    await store(Buffer.from(`\ufeff${text}`));
    expect((await vocBoxes(folder)).classes).toEqual(["café"]);
    await store(Buffer.from(text, "latin1"));
    expect((await refusal(() => vocBoxes(folder))).message).toMatch(
      /7\.xml: is not in utf-8 near byte \d+; convert/,
    );
    await store(Buffer.from(named("klingon", text)));
    expect((await refusal(() => vocBoxes(folder))).message).toMatch(/7\.xml: is not in klingon/);
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
    const turned = { image_id: 9, category_id: 3, bbox: [5, 5, -4, 10] };
    await write(coco({ annotations: [...coco().annotations, crowd, flat, turned] }));
    expect(await cocoBoxes(path())).toEqual({
      classes: ["car", "cup"],
      dropped: [
        "annotations[2]: [5, 5, 0, 10] has nothing inside 64×32",
        "annotations[3]: [5, 5, -4, 10] has nothing inside 64×32",
      ],
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

  it("takes true for a crowd, as COCO's own tools do", async () => {
    const crowds = [true, 1, false, 0, undefined].map((iscrowd) => ({ ...coco().annotations[0], iscrowd }));
    await write(coco({ annotations: crowds }));
    const { images } = await cocoBoxes(path());
    expect(images[0]?.boxes.map(({ isIgnored }) => isIgnored)).toEqual([true, true, false, false, false]);
  });

  const boxed = (changes: object) => coco({ annotations: [{ ...coco().annotations[0], ...changes }] });
  it.each([
    [
      "a box of texts",
      boxed({ bbox: ["1", "2", "3", "4"] }),
      /annotations\[0\]\.bbox: .* got \["1","2","3","4"\]/,
    ],
    ["a width that is text", boxed({ bbox: [1, 2, "3", 4] }), /four finite numbers/],
    ["a height that is null", boxed({ bbox: [1, 2, 3, null] }), /four finite numbers, got \[1,2,3,null\]/],
    ["a box of five", boxed({ bbox: [1, 2, 3, 4, 5] }), /four finite numbers/],
    ["no box", boxed({ bbox: undefined }), /four finite numbers, got none/],
    ["a crowd that is text", boxed({ iscrowd: "1" }), /annotations\[0\]\.iscrowd must be 0 or 1, got "1"/],
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
    [
      "an id that is text",
      coco({ categories: [{ id: "3" }] }),
      /categories\[0\]\.id must be an integer, got "3"/,
    ],
    ["a size of 0", coco({ images: [{ id: 9, file_name: "a", width: 0, height: 1 }] }), /images\[0\]: width/],
    [
      "an absolute path",
      coco({ images: [{ id: 9, file_name: "/etc/x", width: 1, height: 1 }] }),
      /inside its folder/,
    ],
  ])("refuses %s as MP_PARSE, naming the file", async (_, value, message) => {
    await write(value);
    const error = await refusal(() => cocoBoxes(path()));
    expect([error.code, error.message]).toEqual(["MP_PARSE", expect.stringMatching(message)]);
    expect(error.message).toContain("instances.json");
  });

  it("reads or refuses a file with any bytes changed, and never fails otherwise", async () => {
    const change = fc.tuple(fc.nat(), fc.constantFrom(...'0"[]{},-e.&<>/;ÿ\0'));
    const sources: readonly (readonly [string, string, () => Promise<unknown>])[] = [
      ["instances.json", JSON.stringify(coco()), () => cocoBoxes(path())],
      ["7.xml", annotation([{}, { name: "a&amp;b" }]), () => vocBoxes(folder)],
    ];
    for (const [name, whole, read] of sources) {
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
          const letters = [...whole];
          for (const [place, letter] of changes) letters[place % letters.length] = letter;
          await writeFile(join(folder, name), letters.join(""), "latin1");
          const outcome = await read().catch((error: unknown) => error);
          if (outcome instanceof Error) expect(MpError.is(outcome, "MP_PARSE"), outcome.stack).toBe(true);
        }),
        { numRuns: 200 },
      );
    }
  });

  it("tells a missing file", async () => {
    expect((await refusal(() => cocoBoxes(join(folder, "nothing.json")))).code).toBe("MP_IO");
  });
});
