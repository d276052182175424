/**
 * The documentation as a site: the repository's Markdown files, the guide first, and a reference of every entry of the
 * public packages made from the docstrings. A link that leads nowhere fails the build.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { answersQuestions } from "../site/answers.mjs";
import { deadLinks } from "../site/dead-links.mjs";
import { correctAnchors } from "../site/reference-anchors.mjs";
import { fail } from "../workspace/fail.mjs";
import { publicLibraries, root } from "../workspace/packages.mjs";
import { repositoryFiles } from "../workspace/repository-files.mjs";
import { tool, turbo } from "../workspace/turbo.mjs";

const SITE = join(root, "site");
const SOURCE = join(SITE, "source");
const PAGES =
  /^(README|CONTRIBUTING|docs\/[^/]+|docs\/decisions\/[^/]+|(packages|apps)\/[^/]+\/README|bench\/README)\.md$/;

const ENTRIES = join(SITE, "entries");
/** Entries that programs do not import. */
const NOT_PUBLIC = new Set(["./package.json", "./internal", "./command", "./worker"]);

/**
 * Writes a file for each entry of a package that programs import, at the path of its name without `@mp/`, which
 * TypeDoc gives to the module (an `@` would be a pattern to it), and returns the files, from the
 * root.
 * @param {import("../workspace/packages.mjs").WorkspacePackage} one
 */
const entriesOf = ({ path, name, manifest }) =>
  Object.keys(manifest.exports ?? {})
    .filter((entry) => !NOT_PUBLIC.has(entry))
    .map((entry) => {
      const part = entry === "." ? "index" : entry.slice(2);
      const candidates = [`src/${part}.ts`, `src/entries/${part}.ts`, `src/${part}/index.ts`];
      const found = candidates.find((file) => existsSync(join(root, path, file)));
      if (found === undefined) fail(`docs: ${path} has no source for its entry ${entry}`);
      const file = join(ENTRIES, `${posix.join(name.replace(/^@mp\//, ""), entry)}.ts`);
      mkdirSync(dirname(file), { recursive: true });
      const source = posix.relative(dirname(file), join(root, path, found.replace(/ts$/, "js")));
      writeFileSync(file, `export * from "${source}";\n`);
      return posix.relative(root, file);
    });

/** Writes the reference as Markdown. @returns {boolean} whether it converted without a warning */
function writeReference() {
  const options = {
    name: "API",
    entryPoints: publicLibraries()
      .flatMap(entriesOf)
      .map((entry) => join(root, entry)),
    tsconfig: join(SITE, "tsconfig.json"),
    basePath: ENTRIES,
    plugin: ["typedoc-plugin-markdown"],
    out: join(SOURCE, "api"),
    readme: "none",
    entryFileName: "index",
    outputFileStrategy: "modules",
    sanitizeComments: true,
    hideBreadcrumbs: true,
    hidePageHeader: true,
    disableSources: true,
    excludeInternal: true,
    excludePrivate: true,
    skipErrorChecking: true,
    gitRevision: "main",
    treatWarningsAsErrors: true,
    // A type that only another type names is shown where it is used.
    validation: { notExported: false, invalidLink: true, invalidPath: true, rewrittenLink: true },
  };
  const compilerOptions = { noEmit: true, types: ["node"] };
  const include = ["entries"];
  writeFileSync(
    join(SITE, "tsconfig.json"),
    JSON.stringify({ extends: "../tsconfig.base.json", compilerOptions, include }),
  );
  writeFileSync(join(SITE, "typedoc.json"), JSON.stringify(options));
  if (!tool("typedoc", ["--options", join(SITE, "typedoc.json")])) return false;
  correctAnchors(join(SOURCE, "api"));
  return true;
}

/** The Markdown files of the repository that are pages. */
const pages = () => repositoryFiles("*.md").filter((file) => PAGES.test(file));

/** Files that are elsewhere in the site: the guide is its front. @type {Readonly<Record<string, string>>} */
const MOVED = { "README.md": "readme.md", "docs/guide.md": "index.md" };

/** The path of a file of the repository in the site: a README is the page of its folder. @param {string} file */
const placeOf = (file) => MOVED[file] ?? file.replace(/(^|\/)README\.md$/, "$1index.md");

/**
 * The page's text for the site: comments, which only the checks read, are left out, and links lead to pages. What is
 * no page, such as a source file, is named and not linked.
 * @param {string} file
 * @param {ReadonlySet<string>} known
 */
function pageText(file, known) {
  const from = dirname(placeOf(file));
  return readFileSync(join(root, file), "utf8")
    .replace(/<!--[\s\S]*?-->\n?/g, "")
    .replace(/\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (link, label, target) => {
      const [path = "", anchor] = target.split("#");
      if (path === "" || /^[a-z]+:/.test(path)) return link;
      const wanted = posix.normalize(posix.join(dirname(file), path)).replace(/\/$/, "");
      const page = [wanted, `${wanted}/README.md`].find((one) => known.has(one));
      if (page === undefined && !existsSync(join(root, wanted))) return link;
      if (page === undefined) return label;
      const relative = posix.relative(from, placeOf(page));
      const dotted = relative.startsWith(".") ? relative : `./${relative}`;
      return `[${label}](${dotted}${anchor === undefined ? "" : `#${anchor}`})`;
    });
}

function writePages() {
  const files = pages();
  const known = new Set(files);
  for (const file of files) {
    const place = join(SOURCE, placeOf(file));
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, pageText(file, known));
  }
  return files;
}

/** @param {readonly string[]} files */
function writeConfiguration(files) {
  const item = (/** @type {string} */ file) => ({
    text: /^# (.+)$/m.exec(readFileSync(join(root, file), "utf8"))?.[1] ?? file,
    link: `/${placeOf(file).replace(/(index)?\.md$/, "")}`,
  });
  const group = (/** @type {string} */ text, /** @type {RegExp} */ pattern, isCollapsed = true) => ({
    text,
    collapsed: isCollapsed,
    items: files.filter((file) => pattern.test(file)).map(item),
  });
  const sidebar = [
    { text: "Guide", link: "/" },
    { text: "API reference", link: "/api/" },
    { text: "README", link: "/readme" },
    group("Pages", /^docs\/(?!guide)[^/]+\.md$/, false),
    group("Packages", /^packages\//),
    group("Apps", /^(apps|bench)\//),
    group("Decisions", /^docs\/decisions\//),
    { text: "Contributing", link: "/CONTRIBUTING" },
  ];
  const nav = [
    { text: "Guide", link: "/" },
    { text: "API", link: "/api/" },
  ];
  const configuration = {
    title: "mp",
    description: "Mixed-precision training in TypeScript",
    cleanUrls: true,
    outDir: join(SITE, "dist"),
    cacheDir: join(SITE, "cache"),
    themeConfig: { nav, sidebar, outline: [2, 3] },
  };
  const folder = join(SOURCE, ".vitepress");
  mkdirSync(join(folder, "theme"), { recursive: true });
  for (const file of ["cell-heads.mjs", "heading-anchor.mjs", "search-options.mjs", "theme/narrow.css"])
    copyFileSync(join(root, "tools/site", file.replace("theme/", "")), join(folder, file));
  writeFileSync(
    join(folder, "theme", "index.mjs"),
    'import theme from "vitepress/theme";\nimport "./narrow.css";\n\nexport default theme;\n',
  );
  writeFileSync(
    join(folder, "config.mjs"),
    `import { cellHeads } from "./cell-heads.mjs";
import { headingAnchor } from "./heading-anchor.mjs";
import { searchOptions } from "./search-options.mjs";

const configuration = ${JSON.stringify(configuration, undefined, 2)};
// Docstrings and pages hold types such as Tree<T>; no page needs HTML.
configuration.markdown = { html: false, anchor: { slugify: headingAnchor }, config: cellHeads };
configuration.themeConfig.search = { provider: "local", options: { miniSearch: searchOptions } };
export default configuration;
`,
  );
}

/** @returns {boolean} whether no link of the site is dead */
function linksLead() {
  const dead = deadLinks(join(SITE, "dist"));
  for (const problem of dead) console.error(problem);
  console.log(`site: ${dead.length} dead links`);
  return dead.length === 0;
}

/**
 * Builds the site into `site/dist`, and checks its links and its search.
 * @returns {Promise<number>} exit code
 */
export async function runDocs() {
  for (const part of ["source", "dist", "entries"])
    rmSync(join(SITE, part), { recursive: true, force: true });
  mkdirSync(SOURCE, { recursive: true });
  // Packages see each other's types as a user does.
  if (!turbo(["build"], { filter: ["./packages/*"], quiet: true })) return 1;
  if (!writeReference()) return 1;
  writeConfiguration(writePages());
  if (!tool("vitepress", ["build", SOURCE])) return 1;
  const isGood = [linksLead(), await answersQuestions(join(SITE, "dist"))].every(Boolean);
  if (!isGood) return 1;
  console.log("\nsite/dist holds the site; npx vitepress preview site/source shows it");
  return 0;
}
