/**
 * The text for a part with these settings: `adam(learningRate 0.001, beta1 0.9)`. A checkpoint identifies a part by it.
 * A function, such as a schedule, is identified only by its name.
 */
export function described(
  name: string,
  settings: Readonly<Record<string, number | string | boolean | { readonly name: string }>>,
): string {
  const words = Object.entries(settings).map(([setting, value]) => {
    const named = typeof value === "function" || typeof value === "object" ? value.name || "unnamed" : value;
    return `${setting} ${named}`;
  });
  return `${name}(${words.join(", ")})`;
}
