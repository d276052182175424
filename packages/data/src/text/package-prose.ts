import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { MpError } from "@mp/core";
import { text as checkText, listOf, optionsCheck } from "../check-arguments.js";
import { ioError } from "../errors.js";
import { listFiles } from "../list-files.js";
import { docComments } from "./doc-comments.js";
import { markdownToProse, readMarkdown } from "./markdown-prose.js";
import { RunningText } from "./running-text.js";
import type { TextCorpus } from "./text-corpus.js";
import { tokenize } from "./tokenize.js";

/** An installed package whose documentation is read. */
export interface PackageText {
  readonly name: string;
  /** A directory below the package's root; default the whole package. */
  readonly directory?: string;
}

export interface TextCorpusOptions {
  /** `import.meta.url` of a module in the package that depends on `packages`. */
  readonly from: string;
  readonly packages: readonly PackageText[];
}

const EXTENSIONS = [".md", ".mdx", ".d.ts"];
const NOT_PROSE = /(?:^|\/)(?:changelog|history|licen[sc]e|third-?party)[^/]*$/i;

const checkOptions = optionsCheck<TextCorpusOptions>(
  {
    from: checkText,
    packages: listOf(
      '{ name: "…" }',
      (value) => typeof (value as { readonly name?: unknown } | null)?.name === "string",
    ),
  },
  '{ from: import.meta.url, packages: [{ name: "typescript" }] }',
);

/**
 * Makes a corpus of English text that every checkout has after its install: the documentation in npm packages,
 * Markdown and the doc comments of type declarations. It is split 90/5/5, without repeated paragraphs. The same
 * versions give the same `sha256` on every machine.
 * @throws MP_IO for a package that is not installed or has no documentation there
 */
export async function textCorpus(options: TextCorpusOptions): Promise<TextCorpus> {
  checkOptions("textCorpus", options);
  const text = new RunningText();
  const seen = new Set<string>();
  for (const { name, directory = "" } of options.packages) {
    const root = packageRoot(name, options.from);
    for (const paragraph of await markdownProse(join(root, directory))) {
      if (seen.has(paragraph)) continue;
      seen.add(paragraph);
      text.add(tokenize(paragraph));
    }
    text.endSource({ name, version: packageVersion(root) });
  }
  return text.finish(options.packages.map(({ name }) => name).join(", "));
}

/**
 * The prose of all Markdown, MDX and declaration files below a directory, one string per paragraph, in the order of
 * the files' names. Change logs and licenses are left out.
 * @throws MP_IO if there are no such files, MP_PARSE for a file that is not UTF-8
 */
async function markdownProse(directory: string): Promise<string[]> {
  const files = (await listFiles(directory, EXTENSIONS)).filter((file) => !NOT_PROSE.test(file));
  if (files.length === 0)
    throw ioError(directory, `has no documentation, no file in ${EXTENSIONS.join(", ")}`);
  const paragraphs: string[] = [];
  for (const file of files) {
    const source = await readMarkdown(join(directory, file));
    const documents = file.endsWith(".d.ts") ? docComments(source) : [source];
    paragraphs.push(...documents.flatMap(markdownToProse));
  }
  return paragraphs;
}

/** Finds a package as Node would, but by its folder, because `exports` may hide package.json and the docs. */
function packageRoot(name: string, from: string): string {
  const places = createRequire(from).resolve.paths(`${name}/`) ?? [];
  const roots = places.map((place) => join(place, name));
  const found = roots.find((root) => existsSync(join(root, "package.json")));
  if (found !== undefined) return found;
  throw new MpError(
    "MP_IO",
    `textCorpus: package "${name}" is not installed, looked from ${dirname(from)}; install the workspace's dependencies`,
    { details: { package: name, from } },
  );
}

function packageVersion(root: string): string {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version?: unknown };
  return typeof version === "string" ? version : "unknown";
}
