/** Text that is markup, which `html` does not escape. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Content = Markup | string | number | undefined | readonly Content[];

/** Makes markup; escapes contents that are not markup. */
export function html(strings: TemplateStringsArray, ...contents: readonly Content[]): Markup {
  return new Markup(strings.reduce((text, literal, index) => text + markup(contents[index - 1]) + literal));
}

function markup(content: Content): string {
  if (content === undefined) return "";
  if (content instanceof Markup) return content.text;
  if (typeof content === "object") return content.map(markup).join("");
  return String(content).replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
