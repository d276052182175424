/**
 * The anchor of a heading as GitHub makes it, and our site with it: letters, digits, `_` and `-` in lower case, spaces
 * as `-`.
 * @param {string} heading its text, without Markdown
 */
export const headingAnchor = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, "")
    .trim()
    .replaceAll(" ", "-");

/**
 * The anchors of a page's headings, with a number behind those that the page has already.
 * @param {string} markdown
 * @param {Iterable<string>} [others] anchors that the page has besides
 * @returns {ReadonlySet<string>}
 */
export function headingAnchors(markdown, others = []) {
  const found = new Set(others);
  const withoutCode = markdown.replace(/^(```+)[\s\S]*?^\1/gm, "");
  for (const [, heading = ""] of withoutCode.matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const anchor = headingAnchor(heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1"));
    let unique = anchor;
    for (let count = 1; found.has(unique); count++) unique = `${anchor}-${count}`;
    found.add(unique);
  }
  return found;
}
