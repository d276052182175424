import { basename, join } from "node:path";
import { XMLParser, XMLValidator } from "fast-xml-parser";
import { path as checkPath, listOf, optional } from "../check-arguments.js";
import { fileError, ioError, parseError, reasonOf } from "../errors.js";
import { listFiles } from "../list-files.js";
import { readTextFile } from "../text-file.js";
import {
  type AnnotatedImage,
  type BoxAnnotations,
  checkCorners,
  checkFileName,
  checkImageSize,
  clipBox,
  describeDrop,
} from "./annotations.js";

type Fields = Readonly<Record<string, unknown>>;

/** Largest size in bytes of an annotation file; those of VOC have about two thousand bytes. */
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
 * Reads the boxes of a folder of Pascal VOC annotations, one XML file per image. VOC counts pixels from 1, and a box
 * includes its last column and row; a `Box` counts from 0, and its end is the first column and row outside. By default
 * `classes` are all names found, sorted. Boxes refer to pixels as stored in the picture's file, so read the pictures
 * with `orientation: "stored"`.
 * @throws MP_IO for a folder without XML files, MP_PARSE for a file that is not of this form
 */
export async function vocBoxes(directory: string, classes?: readonly string[]): Promise<BoxAnnotations> {
  checkPath("vocBoxes: directory", directory);
  checkClasses("vocBoxes: classes", classes);
  const files = await listFiles(directory, [".xml"]);
  if (files.length === 0)
    throw ioError(directory, "has no .xml file; the folder of VOC's annotations is VOC2007/Annotations");
  const read: ReturnType<typeof readOne>[] = [];
  for (const file of files) {
    const path = join(directory, file);
    read.push(readOne(path, await readTextFile(path, LONGEST_FILE, xmlEncoding)));
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

/** Reads one file; corners stay as in the file, which counts pixels from 1. */
function readOne(path: string, text: string) {
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
    throw fileError(path, `no sound XML in line ${line}, column ${col}: ${msg}; is it whole?`, { line });
  }
  try {
    return parser.parse(text) as Fields;
  } catch (cause) {
    throw parseError(path, `no XML that can be read, ${reasonOf(cause)}; save it again`, 0, cause);
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
