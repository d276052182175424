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
 * The headings of a page by their anchors, which have a number behind them where the page has them already.
 * @param {string} markdown
 * @param {Iterable<string>} [others] anchors that the page has besides
 * @returns {ReadonlyMap<string, string>}
 */
export function headingAnchors(markdown, others = []) {
  const found = new Map([...others].map((anchor) => [anchor, ""]));
  const withoutCode = markdown.replace(/^(```+)[\s\S]*?^\1/gm, "");
  for (const [, heading = ""] of withoutCode.matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
    const anchor = headingAnchor(text);
    let unique = anchor;
    for (let count = 1; found.has(unique); count++) unique = `${anchor}-${count}`;
    found.set(unique, text);
  }
  return found;
}
