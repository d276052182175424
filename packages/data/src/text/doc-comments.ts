/** Tags with a name in front of their running text, such as `@param name`. */
const NAMED = new Set(["param", "property", "prop", "template"]);
/** Tags with running text alone. */
const PLAIN = new Set(["returns", "return", "remarks", "summary", "throws", "deprecated"]);

/**
 * The documentation in a TypeScript declaration file: each `/** ... *\/` comment as Markdown, examples and
 * references left out.
 */
export function docComments(source: string): string[] {
  return between(source, "/**", "*/").map(({ inside }) => commentToMarkdown(inside));
}

/**
 * Finds the texts between an `open` and the next `close` in one pass. A regular expression would search for `close`
 * again from every `open`.
 */
function between(
  text: string,
  open: string,
  close: string,
): readonly { readonly start: number; readonly end: number; readonly inside: string }[] {
  const found = [];
  for (let start = text.indexOf(open); start >= 0; ) {
    const from = start + open.length;
    const to = text.indexOf(close, from);
    if (to < 0) break;
    const end = to + close.length;
    found.push({ start, end, inside: text.slice(from, to) });
    start = text.indexOf(open, end);
  }
  return found;
}

/** Replaces links by their labels, or by their targets as code. */
function withoutLinks(text: string): string {
  let plain = "";
  let at = 0;
  for (const { start, end, inside } of between(text, "{@link", "}")) {
    const [, target, label = ""] = /^(?:code|plain)?\s+([^|\s]+)([\s\S]*)$/.exec(inside) ?? [];
    const words = label.trim().replace(/^\|/, "").trim();
    const said = target === undefined ? text.slice(start, end) : words === "" ? `\`${target}\`` : words;
    plain += text.slice(at, start) + said;
    at = end;
  }
  return plain + text.slice(at);
}

/** Matches white space within a line only; across line ends, the search would be quadratic in empty lines. */
const LINE_START = String.raw`^[^\S\n\r\u2028\u2029]*`;

function commentToMarkdown(body: string): string {
  const text = body.replace(new RegExp(String.raw`${LINE_START}\*[^\S\n]?`, "gm"), "");
  const [description = "", ...tagged] = withoutLinks(text).split(
    new RegExp(`${LINE_START}@(?=[a-zA-Z])`, "m"),
  );
  const texts = tagged.map((block) => {
    const [, tag = "", rest = ""] = /^(\w+)([\s\S]*)$/.exec(block) ?? [];
    if (NAMED.has(tag)) return rest.replace(/^\s+(?:\{[^}]*\}\s*)?\S+\s*(?:-\s+)?/, "");
    return PLAIN.has(tag) ? rest.replace(/^\s*\{[^}]*\}/, "") : "";
  });
  const paragraphs = [description, ...texts].map((text) => text.trim());
  return paragraphs.filter((text) => text !== "").join("\n\n");
}
