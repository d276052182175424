/**
 * The text for a part with these settings: `adam(learningRate 0.001, beta1 0.9)`. A checkpoint identifies a part by it.
 * A function, such as a schedule, is identified only by its name.
 */
export function described(name: string, settings: Readonly<Record<string, Described>>): string {
  const words = Object.entries(settings).map(([setting, value]) => `${setting} ${describeValue(value)}`);
  return `${name}(${words.join(", ")})`;
}

/** A record is an option by names, such as the formats of a state. */
type Described =
  | number
  | string
  | boolean
  | { readonly name: string }
  | Readonly<Record<string, string | undefined>>;

function describeValue(value: Described): number | string | boolean {
  if (typeof value !== "object" && typeof value !== "function") return value;
  if ("name" in value) return value.name || "unnamed";
  const entries = Object.entries(value).flatMap(([name, word]) =>
    word === undefined ? [] : `${name} ${word}`,
  );
  return `{${entries.join(" ")}}`;
}
