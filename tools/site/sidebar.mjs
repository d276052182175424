/** The site's sidebar of pages, as README lists them. */

/**
 * @typedef {{ text: string; link: string }} Link
 * @typedef {{ text: string; collapsed: boolean; items: readonly (Link | Group)[] }} Group
 * @typedef {{ label: string; file: string }} Listed a link of README, and the page that it leads to
 */

const API = { text: "API", link: "/api/" };
/** Number of groups that are open at first. */
const OPEN_GROUPS = 4;

/** @param {string} text @param {readonly (Link | Group)[]} items @returns {Group} */
const group = (text, items, collapsed = true) => ({ text, collapsed, items });

/** @param {string} label */
const heading = (label) => label.replaceAll("`", "").replace(/^[a-z]/, (letter) => letter.toUpperCase());

/**
 * @param {string} text Markdown
 * @param {ReadonlySet<string>} pages
 * @returns {readonly Listed[]} its links to pages
 */
const listLinks = (text, pages) =>
  [...text.matchAll(/\[([^\]]+)\]\(([^)#]+)\)/g)].flatMap(([, label = "", target = ""]) => {
    const file = [target, `${target}/README.md`].find((path) => pages.has(path));
    return file === undefined ? [] : [{ label, file }];
  });

/**
 * The sidebar of the pages: a group for each row of the table under README's "Pages", the packages of its table, and a
 * group for developers, with the pages that README lists for them or does not list at all.
 * @param {string} readme
 * @param {readonly string[]} files all pages
 * @param {(file: string) => Link} pageLink
 * @returns {readonly (Link | Group)[]}
 */
export function pagesSidebar(readme, files, pageLink) {
  const pages = new Set(files);
  const readSection = (/** @type {string} */ title) =>
    readme.split(/^## /m).find((section) => section.startsWith(`${title}\n`)) ?? "";
  const rows = [...readSection("Pages").matchAll(/^\| ([\w -]+) \| (.+) \|$/gm)].map(
    ([, name = "", cell = ""]) => ({
      name,
      links: listLinks(cell, pages),
    }),
  );
  const packages = listLinks(readSection("Packages"), pages);
  if (rows.length === 0 || packages.length === 0)
    throw new Error("README.md: has no tables of pages and packages");
  const known = new Set([...rows.flatMap(({ links }) => links), ...packages].map(({ file }) => file));
  const rest = files.filter((file) => !known.has(file) && file !== "README.md");
  const isDecision = (/** @type {string} */ file) => file.startsWith("docs/decisions/");
  const sidebarItem = (/** @type {Listed} */ { label, file }) => ({
    ...pageLink(file),
    text: heading(label),
  });
  const groups = rows.map(({ name, links }, at) =>
    group(
      heading(name),
      [...(name === "reference" ? [API] : []), ...links.map(sidebarItem)],
      at >= OPEN_GROUPS,
    ),
  );
  const developers = [
    ...(groups.pop()?.items ?? []),
    group("Decisions", rest.filter(isDecision).map(pageLink).reverse()),
    group("Internal packages", rest.filter((file) => !isDecision(file)).map(pageLink)),
  ];
  return [
    ...groups,
    group(
      "Packages",
      packages.map(({ file }) => pageLink(file)),
    ),
    group("Developers", developers),
  ];
}
