/**
 * How a part with these settings prints: `adam(learningRate 0.001, beta1 0.9)`. It is what a checkpoint knows a part
 * by; of a function, such as a schedule, only the name tells it from others.
 */
export function described(
  name: string,
  settings: Readonly<Record<string, number | string | boolean | { readonly name: string }>>,
): string {
  const words = Object.entries(settings).map(([setting, value]) => {
    const told = typeof value === "function" || typeof value === "object" ? value.name || "unnamed" : value;
    return `${setting} ${told}`;
  });
  return `${name}(${words.join(", ")})`;
}
