/**
 * The options of MiniSearch in the site's search. VitePress sends functions to the browser as text, so they cannot use
 * variables from outside.
 */

const FIELDS = { fields: ["title", "titles", "text"], storeFields: ["title", "titles"] };

/** Removes the ending of a word, in pages and in questions; null for words without meaning, such as `the`. */
const processTerm = (/** @type {string} */ term) => {
  const word = term.toLowerCase();
  if (
    /^(an?|and|are|as|at|by|can|do|does|for|from|how|i|in|is|it|my|of|on|or|the|this|to|was|what|which|why|with)$/.test(
      word,
    )
  )
    return null;
  return word.replace(/^(.{3,}?)(ing|ed|e?s|e)$/, "$1").replace(/^(.+)([a-z])\2$/, "$1$2");
};

/** The guide and its pages come first, then packages, apps, what only developers of this repository read, and the API. */
const boostDocument = (/** @type {string} */ id) => {
  if (id.startsWith("/api/")) return 0.05;
  if (/^\/(docs\/(decisions\/|architecture|testing)|CONTRIBUTING|bench\/)/.test(id)) return 0.2;
  if (id.startsWith("/apps/")) return 0.4;
  return /^\/packages\//.test(id) ? 0.7 : 1;
};

export const searchOptions = {
  options: { ...FIELDS, processTerm },
  searchOptions: {
    prefix: true,
    // A short word with another letter is another word: Bun, run.
    fuzzy: (/** @type {string} */ term) => (term.length > 4 ? 0.2 : false),
    boost: { title: 4, text: 2, titles: 1 },
    boostDocument,
  },
};
