/** Links of the built site that lead to no file of it, or to no anchor there. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ORIGIN = "http://site";

/**
 * @param {string} folder the built site
 * @returns {readonly string[]} one sentence for each
 */
export function deadLinks(folder) {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".html") && file !== "404.html")
    .map((file) => file.replaceAll("\\", "/"))
    .sort();
  const pages = new Map(files.map((file) => [file, readFileSync(join(folder, file), "utf8")]));
  const anchors = new Map([...pages].map(([file, text]) => [file, attributes(text, "id")]));
  return [...pages].flatMap(([file, text]) =>
    [...attributes(text, "href")].flatMap((target) => {
      const { origin, pathname, hash } = new URL(target, `${ORIGIN}/${file.replace(/(index)?\.html$/, "")}`);
      if (origin !== ORIGIN) return [];
      const path = decodeURIComponent(pathname).slice(1);
      const page = [path, `${path}.html`, `${path}index.html`].find((one) => pages.has(one));
      if (page === undefined)
        return existsSync(join(folder, path)) ? [] : [`${file}: the link to ${target} leads nowhere`];
      if (hash === "" || anchors.get(page)?.has(decodeURIComponent(hash.slice(1)))) return [];
      return [`${file}: the link to ${target} leads to no heading of ${page}`];
    }),
  );
}

/** @param {string} text @param {"id" | "href"} name @returns {ReadonlySet<string>} */
const attributes = (text, name) =>
  new Set(
    [...text.matchAll(new RegExp(`\\s${name}="([^"]*)"`, "g"))].map(([, value = ""]) =>
      value.replaceAll("&amp;", "&"),
    ),
  );
