/** @typedef {{ type: string; content: string; attrSet: (name: string, value: string) => void }} Token */

/**
 * A plugin of markdown-it: copies the head of a column to the attribute `data-head` of its cells. theme.css shows it
 * where rows are blocks.
 * @param {{ core: { ruler: { push: (name: string, rule: (state: { tokens: readonly Token[] }) => void) => void } } }} markdown
 */
export function cellHeads(markdown) {
  markdown.core.ruler.push("cell-heads", ({ tokens }) => {
    /** @type {string[]} */
    let heads = [];
    let column = 0;
    for (const [at, token] of tokens.entries()) {
      if (token.type === "table_open") heads = [];
      if (token.type === "tr_open") column = 0;
      const text = tokens[at + 1]?.content.replace(/[`*]|\[([^\]]*)\]\([^)]*\)/g, "$1").trim() ?? "";
      if (token.type === "th_open") heads.push(text);
      if (token.type !== "td_open") continue;
      const head = heads[column++] ?? "";
      if (head !== "") token.attrSet("data-head", head);
    }
  });
}
