/**
 * The folders of a package's source have an order: a file imports from its own folder and from lower ones. The order of
 * some packages is written in CONTRIBUTING.md; elsewhere it is enough that no folders import each other in a circle.
 */
import { readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import ts from "typescript";

const MAP_FILE = "CONTRIBUTING.md";
/** The root's `index.ts` is above every folder. */
const INDEX = "index.ts";

/**
 * @typedef {object} Room
 * @property {string} name the folder below `src`, `.` for `src` itself
 * @property {readonly string[] | undefined} only the rooms that it may import, if not all that are listed before it
 */
/**
 * @typedef {object} Arrow an import from a file of one folder to a file of another
 * @property {string} file
 * @property {string} target
 * @property {string} from a folder below `src`
 * @property {string} to
 */

/**
 * The lists of CONTRIBUTING.md: under a heading `### <package>/src` a line for each room, lowest first.
 * @param {string} markdown
 * @returns {ReadonlyMap<string, readonly Room[]>}
 */
export function roomMaps(markdown) {
  const sections = markdown.matchAll(/^### `([^`]+\/src)`\n([\s\S]*?)(?=^#|(?![\s\S]))/gm);
  return new Map(
    [...sections].map(([, source = "", list = ""]) => [
      source,
      [...list.matchAll(/^- `([^`]+)`: (.*)$/gm)].map(([, name = "", text = ""]) => {
        const only = /Imports only (.*)$/.exec(text)?.[1];
        const names = (only ?? "").matchAll(/`([^`]+)`/g);
        return { name, only: only === undefined ? undefined : [...names].map((match) => match[1] ?? "") };
      }),
    ]),
  );
}

/**
 * @param {string} source the folder `src` of a package
 * @param {string} file
 * @returns {string} its folder below `src`
 */
const folderOf = (source, file) =>
  file === `${source}/${INDEX}` ? INDEX : posix.relative(source, dirname(file)) || ".";

/**
 * @param {string} source
 * @param {ReadonlyMap<string, readonly string[]>} imports the files of a package and the files that each one imports
 * @returns {readonly Arrow[]}
 */
function arrowsOf(source, imports) {
  return [...imports].flatMap(([file, targets]) =>
    targets
      .filter((target) => target.startsWith(`${source}/`))
      .map((target) => ({ file, target, from: folderOf(source, file), to: folderOf(source, target) }))
      .filter(({ from, to }) => from !== to),
  );
}

/**
 * @param {readonly Arrow[]} arrows
 * @returns {readonly Arrow[]} those between folders that import each other in a circle
 */
function circularArrows(arrows) {
  const left = arrows.filter(
    ({ from, to }) => arrows.some((other) => other.from === to) && arrows.some((other) => other.to === from),
  );
  return left.length === arrows.length ? left : circularArrows(left);
}

/**
 * @param {string} source
 * @param {ReadonlyMap<string, readonly string[]>} imports
 * @param {readonly Room[] | undefined} rooms
 * @returns {readonly string[]}
 */
export function roomProblems(source, imports, rooms) {
  const arrows = arrowsOf(source, imports);
  if (rooms === undefined) {
    return circularArrows(arrows).map(
      ({ file, target, from, to }) =>
        `${file}: imports ${target}, but ${from} and ${to} are in a circle of folders that import each other`,
    );
  }
  const order = new Map(
    [...rooms, { name: INDEX, only: undefined }].map((room, index) => [room.name, { ...room, index }]),
  );
  const folders = new Set([...imports.keys()].map((file) => folderOf(source, file)));
  return [
    ...[...folders]
      .filter((folder) => !order.has(folder))
      .map((folder) => `${source}/${folder}: is not in the list of ${source} in ${MAP_FILE}`),
    ...rooms
      .filter(({ name }) => !folders.has(name))
      .map(({ name }) => `${source}/${name}: is in the list of ${MAP_FILE}, but has no source`),
    ...arrows.flatMap(({ file, target, from, to }) => {
      const [above, below] = [order.get(from), order.get(to)];
      if (above === undefined || below === undefined) return [];
      if (above.index < below.index)
        return [`${file}: imports ${target}, but ${from} is below ${to} in the list of ${MAP_FILE}`];
      if (above.only !== undefined && !above.only.includes(to))
        return [`${file}: imports ${target}, but ${MAP_FILE} does not list ${to} among what ${from} imports`];
      return [];
    }),
  ];
}

/**
 * @param {string} root
 * @param {string} source
 * @param {readonly string[]} files all files of the repository
 * @returns {ReadonlyMap<string, readonly string[]>} the source files of a package, without tests, and what each imports
 */
export function importsOf(root, source, files) {
  const own = files.filter(
    (file) => file.startsWith(`${source}/`) && file.endsWith(".ts") && !/\.(test|test-d)\.ts$/.test(file),
  );
  return new Map(
    own.map((file) => [
      file,
      ts
        .preProcessFile(readFileSync(join(root, file), "utf8"), true, true)
        .importedFiles.map(({ fileName }) => fileName)
        .filter((name) => name.startsWith("."))
        .map((name) => posix.join(dirname(file), name.replace(/\.js$/, ".ts"))),
    ]),
  );
}

/** Checks that a package that is wrong in each way is found to be so. */
function blindSpots() {
  const imports = new Map([
    ["p/src/index.ts", ["p/src/top/a.ts"]],
    ["p/src/a.ts", ["p/src/top/a.ts"]],
    ["p/src/top/a.ts", ["p/src/a.ts", "p/src/mid/a.ts"]],
    ["p/src/mid/a.ts", ["p/src/a.ts"]],
    ["p/src/new/a.ts", []],
  ]);
  const [rooms] = roomMaps(
    "### `p/src`\n\n- `.`: words\n- `mid`: middle\n- `gone`: nothing\n- `top`: all. Imports only `.`\n\n## Next\n",
  ).values();
  const found = [...roomProblems("p/src", imports, rooms), ...roomProblems("p/src", imports, undefined)];
  return [
    "p/src/new: is not in the list",
    "p/src/gone: is in the list",
    "p/src/a.ts: imports p/src/top/a.ts, but . is below top",
    "p/src/top/a.ts: imports p/src/mid/a.ts, but CONTRIBUTING.md does not list mid",
    "p/src/a.ts: imports p/src/top/a.ts, but . and top are in a circle",
  ]
    .filter((expected) => !found.some((problem) => problem.startsWith(expected)))
    .map((expected) => `tools/checks/rooms.mjs: does not find "${expected}"`);
}

/**
 * @param {string} root
 * @param {readonly string[]} sources the folders `src` of all packages
 * @param {readonly string[]} files all files of the repository
 * @returns {readonly string[]}
 */
export function allRoomProblems(root, sources, files) {
  const maps = roomMaps(readFileSync(join(root, MAP_FILE), "utf8"));
  return [
    ...blindSpots(),
    ...[...maps.keys()]
      .filter((source) => !sources.includes(source))
      .map((source) => `${MAP_FILE}: ${source} is no package's source`),
    ...sources.flatMap((source) => roomProblems(source, importsOf(root, source, files), maps.get(source))),
  ];
}
