/** Selects the linear layers that get adapters, by the names that peft uses. */
import { invalid } from "../errors.js";
import type { LinearPlace } from "./linear-place.js";

/** Linear layers by the last parts of their paths; or all but the one that computes the logits. */
export type Targets = readonly string[] | "all-linear";

const isNamed = ({ path }: LinearPlace, name: string): boolean =>
  `/${path}`.endsWith(`/${name.replaceAll(".", "/")}`);

/** Keeps the names that select at least one layer. */
export const filterNames = (
  linearLayers: readonly LinearPlace[],
  names: readonly string[],
): readonly string[] => names.filter((name) => linearLayers.some((place) => isNamed(place, name)));

/** The layers that the targets select, in the order of the model. */
export const selectLayers = (
  linearLayers: readonly LinearPlace[],
  targets: Targets,
): readonly LinearPlace[] =>
  linearLayers.filter((place) =>
    targets === "all-linear" ? !place.isHead : targets.some((name) => isNamed(place, name)),
  );

/** @throws MP_INVALID_ARGUMENT for names that no layer has, listing the existing ones */
export function expectFound(linearLayers: readonly LinearPlace[], targets: Targets): void {
  if (linearLayers.length === 0) throw invalid("lora: the model has no linear layers to put adapters beside");
  if (targets === "all-linear") return;
  const names = filterNames(linearLayers, targets);
  const [missing] = targets.filter((name) => !names.includes(name));
  if (missing === undefined && targets.length > 0) return;
  const candidates = [...new Set(linearLayers.map(({ path }) => path.split("/").at(-1)))].join(", ");
  throw invalid(
    `lora: targets must name linear layers of the model, which are ${candidates}, or be "all-linear" (its linearLayers has the paths); ${missing === undefined ? "the list is empty" : `no layer is named ${JSON.stringify(missing)}`}`,
  );
}
