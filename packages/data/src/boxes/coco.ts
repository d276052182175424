import { path as checkPath } from "../check-arguments.js";
import { parseError, reasonOf } from "../errors.js";
import { readTextFile } from "../text-file.js";
import {
  type AnnotatedImage,
  type BoxAnnotations,
  checkCorners,
  checkFileName,
  checkImageSize,
  clipBox,
  describeDrop,
  type LabeledBox,
} from "./annotations.js";

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads the boxes of a COCO file such as `instances_val2017.json`: its `images`, `annotations` and `categories`.
 * Categories are renumbered from 0 in the order of their ids; masks and captions are ignored. Boxes refer to pixels as
 * stored in the picture's file, so read the pictures with `orientation: "stored"`.
 * @throws MP_IO for a file that cannot be read, MP_PARSE for one that is not JSON or not of this form, naming the
 *   entry
 */
export async function cocoBoxes(path: string): Promise<BoxAnnotations> {
  checkPath("cocoBoxes: path", path);
  const root = parse(path, await readTextFile(path));
  const categories = readList(path, root, "categories").map((entry, index) => ({
    id: readId(path, entry, `categories[${index}].id`),
    name: typeof entry["name"] === "string" ? entry["name"] : String(entry["id"]),
  }));
  categories.sort((a, b) => a.id - b.id);
  const labels = new Map(categories.map(({ id }, label) => [id, label]));
  if (labels.size < categories.length)
    throw parseError(path, "categories: two have one id; give each its own");
  const images = new Map<number, AnnotatedImage & { readonly boxes: LabeledBox[] }>();
  for (const [index, entry] of readList(path, root, "images").entries()) {
    const { width, height } = entry;
    checkImageSize(path, `images[${index}]`, width, height);
    const file = checkFileName(path, entry["file_name"]);
    const size = { width: width as number, height: height as number };
    const id = readId(path, entry, `images[${index}].id`);
    if (images.has(id))
      throw parseError(path, `images[${index}].id: ${id} is another's already; give each its own`);
    images.set(id, { file, ...size, boxes: [] });
  }
  const dropped: string[] = [];
  for (const [index, entry] of readList(path, root, "annotations").entries()) {
    const what = `annotations[${index}]`;
    const image = images.get(readId(path, { id: entry["image_id"] }, `${what}.image_id`));
    const label = labels.get(readId(path, { id: entry["category_id"] }, `${what}.category_id`));
    if (image === undefined || label === undefined) {
      const missing = image === undefined ? `image ${entry["image_id"]}` : `category ${entry["category_id"]}`;
      throw parseError(path, `${what} is of ${missing}, which the file has not; take it out`);
    }
    const isIgnored = isCrowd(path, what, entry["iscrowd"]);
    const [left, top, width, height] = checkCorners(path, `${what}.bbox`, entry["bbox"]);
    const box = clipBox([left, top, left + width, top + height], image.width, image.height);
    if (box !== undefined) image.boxes.push({ label, box, isIgnored });
    else dropped.push(describeDrop(what, [left, top, width, height], image));
  }
  return { images: [...images.values()], classes: categories.map(({ name }) => name), dropped };
}

function parse(path: string, text: string): Fields {
  try {
    const root: unknown = JSON.parse(text);
    if (typeof root === "object" && root !== null && !Array.isArray(root)) return root as Fields;
  } catch (cause) {
    const reason = reasonOf(cause);
    const offset = Number(/position (\d+)/.exec(reason)?.[1] ?? text.length);
    throw parseError(path, `no JSON at character ${offset}, ${reason}; is it whole?`, offset, cause);
  }
  throw parseError(path, "no COCO file, its top level is no object; instances_val2017.json is one");
}

function readList(path: string, root: Fields, name: string): readonly Fields[] {
  const list = root[name];
  if (!Array.isArray(list)) {
    throw parseError(
      path,
      `has no list "${name}"; a COCO file of instances has images, annotations and categories`,
    );
  }
  const wrong = list.findIndex((entry) => typeof entry !== "object" || entry === null);
  if (wrong !== -1) throw parseError(path, `${name}[${wrong}] is no object; take it out`);
  return list as Fields[];
}

function readId(path: string, entry: Fields, what: string): number {
  const { id } = entry;
  if (typeof id === "number" && Number.isSafeInteger(id)) return id;
  throw parseError(path, `${what} must be an integer, got ${JSON.stringify(id) ?? "none"}; correct it`);
}

/** Reads the flag as COCO's own tools do: true or false, 1 or 0. */
function isCrowd(path: string, what: string, value: unknown): boolean {
  if (value === undefined || value === 0 || value === false) return false;
  if (value === 1 || value === true) return true;
  throw parseError(path, `${what}.iscrowd must be 0 or 1, got ${JSON.stringify(value)}; correct it`);
}
