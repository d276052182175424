import { type RecipeReport, survives } from "@mp/core/report";
import { html, type Markup } from "../html.js";
import type { NameOf } from "../layer-names.js";
import { layerName } from "../layers.js";
import { percent, significant } from "../numbers.js";
import { type Column, table } from "./table.js";

/** An operand of a product, by the recipes that quantize it. */
interface Operand {
  readonly layer: string;
  readonly words: string;
  readonly found: Map<number, NonNullable<Measured["statistics"]>>;
}

type Measured = NonNullable<RecipeReport["products"][number]["quantized"]>["operands"][number];

/** Lists what each recipe does to the operands of products; undefined if none was measured. */
export function recipesTable(recipes: readonly RecipeReport[], nameOf: NameOf): Markup | undefined {
  const operands = new Map<string, Operand>();
  for (const [place, { products }] of recipes.entries())
    for (const { node, op, scope, label, quantized } of products)
      for (const [index, { role, statistics }] of (quantized?.operands ?? []).entries()) {
        if (statistics === undefined) continue;
        const own = { layer: nameOf(scope, label), words: `${role} of ${op}`, found: new Map() };
        const operand = operands.get(`${node} ${index}`) ?? own;
        operand.found.set(place, statistics);
        operands.set(`${node} ${index}`, operand);
      }
  if (operands.size === 0) return undefined;
  const shares = (["underflows", "overflows"] as const).map((share) => (place: number): Column<Operand> => {
    const { recipe = "" } = recipes[place] ?? {};
    const cell = ({ found }: Operand): string => {
      const measured = found.get(place);
      return measured === undefined ? "" : percent(measured[share]);
    };
    return { head: `${recipe}: ${share}`, isNumber: true, cell };
  });
  const survived = ({ found }: Operand): string =>
    [...found].flatMap(([place, each]) => (survives(each) ? (recipes[place]?.recipe ?? []) : [])).join(", ");
  const columns: readonly Column<Operand>[] = [
    { head: "layer", isName: true, cell: ({ layer }) => layerName(layer) },
    { head: "operand", cell: ({ words }) => words },
    { head: "amax", isNumber: true, cell: ({ found }) => significant([...found.values()][0]?.amax ?? 0) },
    ...recipes.flatMap((_, place) => shares.map((column) => column(place))),
    { head: "survives", isWords: true, cell: (operand) => survived(operand) || "none" },
  ];
  return html`<details><summary>What recipes do to operands of products</summary>
<p>One batch forward and backward under each recipe, gradients at the run's loss scale: the largest magnitude (amax, under the first recipe) and the shares of the numbers other than 0 that are flushed to 0 (underflows) and saturated (overflows). An operand survives a recipe if its numbers are finite and both are together at most 10 %.</p>
${table("Operands of products by recipe", columns, [...operands.values()])}</details>
`;
}
