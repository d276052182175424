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
 * The headings of a page by their anchors; an anchor that the page already has gets a number at its end. Anchors that
 * are written out, `{#name}` or `<a id="name">`, have an empty heading.
 * @param {string} markdown
 * @returns {ReadonlyMap<string, string>}
 */
export function headingAnchors(markdown) {
  const text = markdown.replace(/^(```+)[\s\S]*?^\1/gm, "");
  const written = text.matchAll(/\{#([^}]+)\}|<a (?:id|name)="([^"]+)"/g);
  const found = new Map([...written].map(([, braced, html]) => [braced ?? html ?? "", ""]));
  for (const [, heading = ""] of text.matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    if (/\{#[^}]+\}$/.test(heading)) continue;
    const title = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
    const anchor = headingAnchor(title);
    let unique = anchor;
    for (let count = 1; found.has(unique); count++) unique = `${anchor}-${count}`;
    found.set(unique, title);
  }
  return found;
}
