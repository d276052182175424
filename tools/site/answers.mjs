/** Tests whether the built site's search answers readers' questions, with the index and options that a browser loads. */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { QUESTIONS } from "./questions.mjs";

const HITS = 4;
/** Number of hits that the site shows. */
const SHOWN = 16;
const LEAST_SHARE = 0.9;

/** @typedef {{ search: (text: string) => readonly { id: string }[] }} Index */

/**
 * @param {string} folder the built site
 * @returns {Promise<(question: string) => readonly string[]>} the places that a question finds, best first
 */
async function loadSearch(folder) {
  const chunks = join(folder, "assets", "chunks");
  const file = readdirSync(chunks).find((name) => name.startsWith("@localSearchIndex")) ?? "no index";
  const { default: json } = await import(pathToFileURL(join(chunks, file)).href);
  const { searchOptions, options } = readOptions(folder);
  const fromVitePress = createRequire(createRequire(import.meta.url).resolve("vitepress/package.json"));
  /** @type {{ loadJSON: (json: string, options: object) => Index }} */
  const MiniSearch = fromVitePress("minisearch");
  const index = MiniSearch.loadJSON(json, { ...options, searchOptions });
  return (question) =>
    index
      .search(question)
      .slice(0, SHOWN)
      .map(({ id }) => id);
}

/**
 * Reads the options as a page does: from its script, where functions are text.
 * @param {string} folder
 * @returns {{ options: object; searchOptions: object }}
 */
function readOptions(folder) {
  const page = readFileSync(join(folder, "index.html"), "utf8");
  const [, script] = /<script>(window\.__VP_HASH_MAP__=.*?)<\/script>/s.exec(page) ?? [];
  if (script === undefined) throw new Error("index.html: has no site data");
  const data = new Function("window", `${script};return window.__VP_SITE_DATA__`)({});
  return data.themeConfig.search.options.miniSearch;
}

/**
 * Prints how many questions find their place among the first hits, and each that does not.
 * @param {string} folder the built site
 * @returns {Promise<boolean>} whether enough do, and no question finds the API reference before a guide
 */
export async function answersQuestions(folder) {
  const search = await loadSearch(folder);
  let answered = 0;
  let isOrdered = true;
  for (const [question, places] of Object.entries(QUESTIONS)) {
    const hits = search(question);
    const firstApi = hits.findIndex((id) => id.startsWith("/api/"));
    const lastGuide = hits.findLastIndex(isGuide);
    if (firstApi !== -1 && firstApi < lastGuide) {
      isOrdered = false;
      console.error(`search "${question}": ${hits[firstApi]} comes before ${hits[lastGuide]}`);
    }
    if (hits.slice(0, HITS).some((id) => places.some((place) => isAt(id, place)))) answered++;
    else console.error(`search "${question}": not in the first ${HITS} hits: ${places.join(" or ")}`);
  }
  const count = Object.keys(QUESTIONS).length;
  console.log(`search: ${answered} of ${count} questions find their page in the first ${HITS} hits`);
  return isOrdered && answered >= LEAST_SHARE * count;
}

const isGuide = (/** @type {string} */ id) => /^\/(#|$|docs\/(?!decisions\/|architecture|testing))/.test(id);

/** Whether a hit is at a place; one without an anchor is a whole page. @param {string} id @param {string} place */
const isAt = (id, place) => id === place || id.replace(/#.*/, "") === place;
