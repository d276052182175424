/**
 * The passes of TensorFlow grappler's auto_mixed_precision, on a typed SSA graph:
 * 1. Allow-list ops are low-precision, which means in the half dtype; f32-list ops are f32.
 * 2. Deny ops and ops downstream of them are f32, up to the next low-precision or f32 op.
 * 3. Infer, between, clear and widest ops between low-precision ops are low-precision.
 * 4. Infer ops downstream of a low-precision op are low-precision; clear and widest ops follow their operands.
 * 5. Clear ops are low-precision if every consumer is. (Grappler does this even where it changes the result.)
 *
 * Unlike in grappler, an op of several operands widens: a residual stream in f32 stays f32, as in PyTorch.
 */
import { type AnyNode, type ComputeDType, type HalfDType, isComputeFloat, type Value } from "@mp/graph";
import type { CastDecision } from "./cast-decision.js";
import type { CastSite, CastView } from "./sites.js";

/** Decides the dtype of every node of the view. */
export function paintCasts(view: CastView, low: HalfDType): ReadonlyMap<AnyNode, CastDecision> {
  const painter = new Painter(view, low);
  painter.paintLists();
  painter.paintDenied();
  painter.paintBetween();
  painter.paintFollowers();
  painter.paintBeforeLow();
  return painter.decisions;
}

class Painter {
  readonly decisions = new Map<AnyNode, CastDecision>();
  readonly #view: CastView;
  readonly #low: HalfDType;

  constructor(view: CastView, low: HalfDType) {
    this.#view = view;
    this.#low = low;
  }

  paintLists(): void {
    for (const site of this.#view.sites) {
      if (site.category === "fixed") this.#paint(site, undefined);
      if (site.category === "low") this.#paint(site, this.#low);
      if (site.category === "f32" || site.category === "deny") this.#paint(site, "f32");
    }
  }

  paintDenied(): void {
    const roots = new Map<CastSite, CastSite>();
    for (const site of this.#view.sites) {
      if (site.category === "deny") roots.set(site, site);
      if (this.#isPainted(site)) continue;
      const root = site.floats
        .map((value) => this.#producerOf(value))
        .find((from) => from && roots.has(from));
      const origin = root && roots.get(root);
      if (origin === undefined) continue;
      roots.set(site, origin);
      this.#paint(site, "f32", { rule: "downstream of a deny-list op", because: origin.node.name });
    }
  }

  paintBetween(): void {
    const behind = new Set<CastSite>();
    const comesFromLow = (value: Value): boolean => {
      const from = this.#producerOf(value);
      return (from !== undefined && behind.has(from)) || this.#made(value) === this.#low;
    };
    for (const site of this.#view.sites) {
      if (this.#isPainted(site)) continue;
      const strong = this.#strong(site);
      const isBehind =
        site.category === "infer"
          ? strong.some(comesFromLow)
          : strong.length > 0 && strong.every(comesFromLow);
      if (isBehind) behind.add(site);
    }
    for (const site of this.#view.sites.toReversed()) {
      if (!behind.has(site)) continue;
      const meets = this.#readersOf(site).some(
        (reader) =>
          reader.category === "low" ||
          (behind.has(reader) && this.decisions.get(reader.node)?.dtype === this.#low),
      );
      if (meets) this.#paint(site, this.#low, { rule: "between low-precision ops" });
    }
  }

  paintFollowers(): void {
    for (const site of this.#view.sites) {
      if (this.#isPainted(site)) continue;
      if (site.category === "between") this.#paint(site, "f32");
      else if (site.category !== "infer") this.#paintWidest(site);
      else if (site.floats.some((value) => this.#made(value) === this.#low))
        this.#paint(site, this.#low, { rule: "downstream of a low-precision op" });
      else this.#paint(site, "f32");
    }
  }

  #paintWidest(site: CastSite): void {
    const strong = this.#strong(site);
    const operands = strong.length > 0 ? strong : site.floats;
    const dtypes = new Set(operands.map((value) => this.#made(value)));
    const [first] = dtypes;
    const dtype = dtypes.size === 1 && first !== undefined ? first : "f32";
    if (strong.length === 0) {
      this.#paint(site, dtype, { rule: "parameters and scalars only" });
      return;
    }
    const wide = dtype === "f32" && operands.find((value) => this.#made(value) === "f32");
    const because = wide ? { because: this.#nameOf(wide) } : {};
    this.#paint(site, dtype, { rule: "widest operand", ...because });
  }

  /** Runs backwards, so that a chain of reshapes upstream of a matrix product is lowered as a whole. */
  paintBeforeLow(): void {
    for (const site of this.#view.sites.toReversed()) {
      const decision = this.decisions.get(site.node);
      if (site.category !== "clear" || decision?.dtype === this.#low) continue;
      const wanted = [...site.carried].flatMap((value) => [
        ...(this.#view.readers.get(value) ?? []).flatMap((reader) => this.#wants(reader, value) ?? []),
        ...(this.#view.outputs.has(value) ? [this.#view.outputs.get(value)] : []),
      ]);
      if (wanted.length > 0 && wanted.every((dtype) => dtype === this.#low)) {
        this.#paint(site, this.#low, { rule: "every consumer is low-precision" });
      }
    }
  }

  #wants(reader: CastSite, value: Value): ComputeDType | undefined {
    const { node } = reader;
    if (node.op === "Cast") return node.attributes.to === this.#low ? this.#low : "f32";
    if (reader.category === "fixed") return isComputeFloat(value.dtype) ? value.dtype : undefined;
    return reader.floats.includes(value) ? this.decisions.get(node)?.dtype : undefined;
  }

  #isPainted(site: CastSite): boolean {
    return this.decisions.has(site.node);
  }

  #paint(
    { node, rule, because }: CastSite,
    dtype: ComputeDType | undefined,
    reason: Pick<CastDecision, "rule" | "because"> = because === undefined ? { rule } : { rule, because },
  ): void {
    this.decisions.set(node, { dtype, ...reason });
  }

  #producerOf(value: Value): CastSite | undefined {
    return this.#view.producer.get(value);
  }

  /** The nodes that compute with a result of the site. */
  #readersOf(site: CastSite): readonly CastSite[] {
    return [...site.carried].flatMap((value) =>
      (this.#view.readers.get(value) ?? []).filter((reader) => reader.floats.includes(value)),
    );
  }

  #strong(site: CastSite): readonly Value[] {
    return site.floats.filter((value) => !this.#view.weak.has(value));
  }

  /** The dtype that a value is computed in; undefined before the dtype of its node is decided. */
  #made(value: Value): ComputeDType | undefined {
    const from = this.#producerOf(value);
    if (from?.carried.has(value)) return this.decisions.get(from.node)?.dtype;
    return this.#view.entering.get(value) ?? (isComputeFloat(value.dtype) ? value.dtype : undefined);
  }

  #nameOf(value: Value): string {
    return this.#producerOf(value)?.node.name ?? this.#view.inputNames.get(value) ?? "an input";
  }
}
