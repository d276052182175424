/**
 * The documentation as a site: the repository's Markdown files, README first, and a reference of every entry of the
 * public packages made from the docstrings. A link that leads nowhere fails the build.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, posix } from "node:path";
import { withoutExports } from "../checks/readme-exports.mjs";
import { answersQuestions } from "../site/answers.mjs";
import { findBrokenLinks } from "../site/links.mjs";
import { writeReference } from "../site/reference.mjs";
import { pagesSidebar } from "../site/sidebar.mjs";
import { root } from "../workspace/packages.mjs";
import { repositoryFiles } from "../workspace/repository-files.mjs";
import { buildPackages, tool } from "../workspace/turbo.mjs";

const SITE = join(root, "site");
const SOURCE = join(SITE, "source");
const README = readFileSync(join(root, "README.md"), "utf8");
const PAGES =
  /^(README|CONTRIBUTING|docs\/[^/]+|docs\/decisions\/[^/]+|(packages|apps)\/[^/]+\/README|bench\/README)\.md$/;

/** The Markdown files of the repository that are pages. */
const pages = () => repositoryFiles("*.md").filter((file) => PAGES.test(file));

/** The path in the site of a page of the repository; a README becomes its folder's `index.md`. @param {string} file */
const sitePath = (file) => file.replace(/(^|\/)README\.md$/, "$1index.md");

/**
 * The page's text for the site: comments, which only the checks read, and the exports of a package, which the reference
 * has, are left out, and links lead to pages. A link to
 * a file that is no page, such as a source file, is replaced by its label.
 * @param {string} file
 * @param {ReadonlySet<string>} known
 */
function pageText(file, known) {
  const from = dirname(sitePath(file));
  return withoutExports(readFileSync(join(root, file), "utf8"))
    .replace(/<!--[\s\S]*?-->\n?/g, "")
    .replace(/\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (link, label, target) => {
      const [path = "", anchor] = target.split("#");
      if (path === "" || /^[a-z]+:/.test(path)) return link;
      const wanted = posix.normalize(posix.join(dirname(file), path)).replace(/\/$/, "");
      const page = [wanted, `${wanted}/README.md`].find((one) => known.has(one));
      if (page === undefined && !existsSync(join(root, wanted))) return link;
      if (/\.(png|svg)$/.test(wanted)) {
        const copy = join(SOURCE, wanted);
        mkdirSync(dirname(copy), { recursive: true });
        copyFileSync(join(root, wanted), copy);
        return `[${label}](/${wanted})`;
      }
      if (page === undefined) return label;
      const relative = posix.relative(from, sitePath(page));
      const dotted = relative.startsWith(".") ? relative : `./${relative}`;
      return `[${label}](${dotted}${anchor === undefined ? "" : `#${anchor}`})`;
    });
}

function writePages() {
  const files = pages();
  const known = new Set(files);
  for (const file of files) {
    const place = join(SOURCE, sitePath(file));
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, pageText(file, known));
  }
  return files;
}

/** @param {readonly string[]} files */
function writeConfiguration(files) {
  const pageLink = (/** @type {string} */ file) => ({
    text: /^# (.+)$/m.exec(readFileSync(join(root, file), "utf8"))?.[1] ?? file,
    link: `/${sitePath(file).replace(/(index)?\.md$/, "")}`,
  });
  const modules = JSON.parse(readFileSync(join(SOURCE, "api", "typedoc-sidebar.json"), "utf8"));
  const sidebar = {
    "/api/": [{ text: "All modules", link: "/api/" }, ...modules],
    "/": pagesSidebar(README, files, pageLink),
  };
  const nav = [
    { text: "Guide", link: "/docs/guide" },
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
  for (const file of ["cell-heads.mjs", "heading-anchor.mjs", "search-options.mjs", "theme/theme.css"])
    copyFileSync(join(root, "tools/site", file.replace("theme/", "")), join(folder, file));
  writeFileSync(
    join(folder, "theme", "index.mjs"),
    'import theme from "vitepress/theme";\nimport "./theme.css";\n\nexport default theme;\n',
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

/** Checks anchors, which VitePress does not. @returns {boolean} whether no link of the site is dead */
function checkLinks() {
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".md"),
  );
  const { count, problems } = findBrokenLinks(SOURCE, files);
  for (const problem of problems) console.error(problem);
  console.log(`site: ${count} links, ${problems.length} dead`);
  return problems.length === 0;
}

/**
 * Builds the site into `site/dist`, and checks its links and its search.
 * @returns {Promise<number>} exit code
 */
export async function run() {
  for (const part of ["source", "dist", "entries"])
    rmSync(join(SITE, part), { recursive: true, force: true });
  mkdirSync(SOURCE, { recursive: true });
  // Packages see each other's types as a user does.
  if (!buildPackages()) return 1;
  if (!writeReference(SITE, join(SOURCE, "api"), README)) return 1;
  writeConfiguration(writePages());
  if (!tool("vitepress", ["build", SOURCE])) return 1;
  const isGood = [checkLinks(), await answersQuestions(join(SITE, "dist"))].every(Boolean);
  if (!isGood) return 1;
  console.log("\nsite/dist holds the site; npx vitepress preview site/source shows it");
  return 0;
}
