import { basename, join } from "node:path";
import { MpError } from "@mp/core";
import { XMLParser, XMLValidator } from "fast-xml-parser";
import { path as checkPath, listOf, optional } from "../check-arguments.js";
import { parseError } from "../errors.js";
import { listFiles } from "../list-files.js";
import {
  type AnnotatedImage,
  type Box,
  type BoxAnnotations,
  checkCorners,
  checkFileName,
  checkImageSize,
  clipBox,
  describeDrop,
  readAnnotation,
} from "./annotations.js";

type Fields = Readonly<Record<string, unknown>>;

/** Largest number of bytes of a file; an annotation of VOC has about two thousand. */
const LONGEST_FILE = 1 << 20;

/**
 * Keeps values as text, which this package's checks convert, so that `01` and `1e3` work. A document's own entities
 * are expanded once, within the parser's limits; `htmlEntities` also reads numeric characters such as `&#233;`.
 */
const parser = new XMLParser({
  parseTagValue: false,
  processEntities: true,
  htmlEntities: true,
  ignoreAttributes: true,
  isArray: (name) => name === "object",
});

const checkClasses = optional(listOf("names", (value) => typeof value === "string"));

/** The encoding in the XML declaration of a file's first line. */
const xmlEncoding = (head: string): string | undefined =>
  /^<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(head)?.[1];

/**
 * Reads the boxes of a folder of Pascal VOC annotations, one XML file per image. VOC counts pixels from 1 and
 * includes the last; here they count from 0, and the last is outside. Classes are in the order of their names, unless
 * given. Boxes refer to pixels as stored in the picture's file: read the pictures with `orientation: "stored"`.
 * @throws MP_IO for a folder without XML files, MP_PARSE for a file that is not of this form, naming the line
 */
export async function vocBoxes(directory: string, classes?: readonly string[]): Promise<BoxAnnotations> {
  checkPath("vocBoxes: directory", directory);
  checkClasses("vocBoxes: classes", classes);
  const files = await listFiles(directory, [".xml"]);
  const read: VocImage[] = [];
  for (const file of files) {
    const path = join(directory, file);
    read.push(readOne(path, await readAnnotation(path, LONGEST_FILE, xmlEncoding)));
  }
  if (read.length === 0) {
    const text = `${directory}: has no .xml file; the folder of VOC's annotations is VOC2007/Annotations`;
    throw new MpError("MP_IO", text, { details: { path: directory, reason: "ENOENT" } });
  }
  const found = new Set(read.flatMap(({ objects }) => objects.map(({ name }) => name)));
  const names = classes ?? [...found].sort();
  const dropped: string[] = [];
  const images = read.map(({ path, objects, ...image }): AnnotatedImage => {
    const { width, height } = image;
    const boxes = objects.flatMap(({ name, what, corners, isIgnored }) => {
      const label = names.indexOf(name);
      if (label === -1)
        throw parseError(path, `an object is a ${name}, which is none of ${names.join(", ")}; add the class`);
      const [left, top, right, bottom] = corners;
      const box = clipBox([left - 1, top - 1, right, bottom], width, height);
      if (box !== undefined) return [{ label, box, isIgnored }];
      dropped.push(describeDrop(`${basename(path)}: ${what}`, corners, image));
      return [];
    });
    return { ...image, boxes };
  });
  return { images, classes: names, dropped };
}

type VocImage = Omit<AnnotatedImage, "boxes"> & {
  readonly path: string;
  readonly objects: readonly {
    readonly name: string;
    readonly what: string;
    /** The corners as the file has them: its first pixel is 1. */
    readonly corners: Box;
    readonly isIgnored: boolean;
  }[];
};

function readOne(path: string, text: string): VocImage {
  const { annotation } = parse(path, text);
  const root = readFields(path, annotation, "annotation");
  const size = readFields(path, root["size"], "size");
  const [width, height] = [readNumber(size["width"]), readNumber(size["height"])];
  checkImageSize(path, "size", width, height);
  const list: unknown = root["object"] ?? [];
  const objects = (list as readonly unknown[]).map((entry, index) => {
    const what = `object ${index}`;
    const fields = readFields(path, entry, what);
    const { name } = fields;
    if (typeof name !== "string" || name === "") throw parseError(path, `${what} has no name; add it`);
    const box = readFields(path, fields["bndbox"], `bndbox of ${what}`);
    const corners = ["xmin", "ymin", "xmax", "ymax"].map((key) => readNumber(box[key]));
    const isIgnored = readNumber(fields["difficult"]) === 1;
    return { name, what, corners: checkCorners(path, what, corners), isIgnored };
  });
  return { path, file: checkFileName(path, root["filename"]), width, height, objects };
}

function parse(path: string, text: string): Fields {
  const sound = XMLValidator.validate(text);
  if (sound !== true) {
    const { line, col, msg } = sound.err;
    const offset =
      text
        .split("\n")
        .slice(0, line - 1)
        .join("\n").length + col;
    throw parseError(path, `no sound XML in line ${line}, column ${col}: ${msg}; is it whole?`, offset);
  }
  try {
    return parser.parse(text) as Fields;
  } catch (cause) {
    throw parseError(
      path,
      `no XML that can be read, ${cause instanceof Error ? cause.message : cause}; save it again`,
      0,
      cause,
    );
  }
}

function readFields(path: string, value: unknown, what: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw parseError(
    path,
    `has no ${what}; VOC's annotations are annotation > size, filename, object > name, bndbox`,
  );
}

const readNumber = (value: unknown): number =>
  typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
