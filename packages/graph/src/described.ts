/**
 * Describes a part by its settings, such as `adam(learningRate 0.001, beta1 0.9)`; checkpoints identify the part by
 * this text. A function, such as a schedule, appears only by its name.
 */
export function described(name: string, settings: Readonly<Record<string, Described>>): string {
  const words = Object.entries(settings).map(([setting, value]) => `${setting} ${describeValue(value)}`);
  return `${name}(${words.join(", ")})`;
}

/** The value of a setting. A record holds one value per name, such as the format of each state. */
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
