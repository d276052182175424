/** Tags whose text is running text; the name after `@param` and the like is not part of it. */
const NAMED = new Set(["param", "property", "prop", "template"]);
const PLAIN = new Set(["returns", "return", "remarks", "summary", "throws", "deprecated"]);

/**
 * The documentation in a TypeScript declaration file: each `/** ... *\/` comment as Markdown, examples and
 * references left out.
 */
export function docComments(source: string): string[] {
  return [...source.matchAll(/\/\*\*([\s\S]*?)\*\//g)].map(([, body]) => commentToMarkdown(body ?? ""));
}

function commentToMarkdown(body: string): string {
  const [description = "", ...tagged] = body
    .replace(/^[^\S\n]*\*[^\S\n]?/gm, "")
    .replace(/\{@link(?:code|plain)?\s+([^}|\s]+)\s*\|?([^}]*)\}/g, (_, target: string, label: string) =>
      label.trim() === "" ? `\`${target}\`` : label.trim(),
    )
    .split(/^[^\S\n]*@(?=[a-zA-Z])/m);
  const texts = tagged.map((block) => {
    const [, tag = "", rest = ""] = /^(\w+)([\s\S]*)$/.exec(block) ?? [];
    if (NAMED.has(tag)) return rest.replace(/^\s+(?:\{[^}]*\}\s*)?\S+\s*(?:-\s+)?/, "");
    return PLAIN.has(tag) ? rest.replace(/^\s*\{[^}]*\}/, "") : "";
  });
  const paragraphs = [description, ...texts].map((text) => text.trim());
  return paragraphs.filter((text) => text !== "").join("\n\n");
}
