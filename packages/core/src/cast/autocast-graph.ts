/**
 * Applies a casting policy to a graph. Apply it before differentiation, so that a gradient is computed in the dtype of
 * its forward node. Inputs keep their types; results get the policy's output dtype.
 */

import {
  type AnyNode,
  type ComputeDType,
  type DType,
  type Graph,
  GraphBuilder,
  type GraphNode,
  isComputeFloat,
  MpError,
  type Origin,
  type Value,
} from "@mp/graph";
import { GraphCopy } from "@mp/graph/internal";
import { constantIn } from "./constants.js";
import { lintNodes } from "./lint.js";
import { type CastOptions, type CastPlan, carrierDType, castsBody, planCasts } from "./plan.js";
import type { CastingPolicy } from "./policy.js";
import { findStoredInHalf } from "./sites.js";

/** A cast that the policy inserted. */
export interface InsertedCast {
  /** The node or input whose value is cast. */
  readonly value: string;
  readonly from: DType;
  readonly to: DType;
  /** The first node or output that reads the cast. */
  readonly before: string;
}

/**
 * Inserts the policy's casts into the graph, one for each value, dtype and `remat` segment. With float32 and in manual
 * mode only results are cast. All of the user's casts stay, even those that became no-ops.
 * @throws MP_OUT_OF_RANGE for a finite constant that is not finite in the half dtype that would read it, naming node,
 *   scope, line and remedy, which `details.remedies` holds for `withRemedies`; MP_UNSUPPORTED if the backend does not
 *   support the policy's half dtype at all
 */
export function autocastGraph(graph: Graph, policy: CastingPolicy, options: CastOptions = {}): Graph {
  const plan = planCasts(graph, policy, options);
  const cast = applyCasts(plan);
  const fatal = [plan, ...cast.bodies.values()]
    .flatMap(lintNodes)
    .find(({ severity }) => severity === "error");
  if (fatal !== undefined) {
    const { message, remedy, changes, ...at } = fatal;
    const details = { ...at, remedies: [{ option: "policy", value: changes }] };
    throw new MpError("MP_OUT_OF_RANGE", `autocast: ${message}; ${remedy}`, { details });
  }
  return cast.graph;
}

/** A rewritten graph with the casts that were inserted. */
export interface AppliedCasts {
  readonly graph: Graph;
  readonly casts: readonly InsertedCast[];
  /** The plans for the bodies of the graph's scans; a nested body comes after the body around it. */
  readonly bodies: ReadonlyMap<AnyNode, CastPlan>;
}

/** Rewrites a graph by its plan, without checking its constants. */
export function applyCasts(plan: CastPlan): AppliedCasts {
  const { graph, low, outputs } = plan;
  const changesOutput = [...outputs].some(([value, dtype]) => value.dtype !== dtype);
  if (low === undefined && !changesOutput) return { graph, casts: [], bodies: new Map() };
  return new Rewriter(plan).run();
}

class Rewriter {
  readonly #plan: CastPlan;
  readonly #copy: GraphCopy<GraphBuilder>;
  readonly #constants = new Map<Value, Map<DType, Value>>();
  readonly #needs = new Map<Value, Set<DType>>();
  /** Inserted casts by the value that they cast, then by `castKey`. */
  readonly #casts = new Map<Value, Map<string, Value>>();
  /** For each f32 value that was cast from f16 or bf16, the original value: a cast back to its dtype reuses it. */
  readonly #narrow = new Map<Value, Value>();
  readonly #producers = new Map<Value, AnyNode>();
  readonly #inputNames = new Map<Value, string>();
  readonly #inserted: InsertedCast[] = [];
  readonly #bodies = new Map<AnyNode, CastPlan>();
  readonly #storedInHalf: ReadonlySet<AnyNode>;

  constructor(plan: CastPlan) {
    this.#plan = plan;
    this.#copy = new GraphCopy(plan.graph, new GraphBuilder());
    this.#storedInHalf = findStoredInHalf(plan.graph);
    for (const node of plan.graph.nodes) {
      for (const value of node.inputs) this.#need(value, plan.takes(node, value) ?? value.dtype);
    }
    for (const { value } of plan.graph.outputs) this.#need(value, plan.outputs.get(value) ?? value.dtype);
    for (const node of plan.graph.nodes) for (const value of node.outputs) this.#producers.set(value, node);
  }

  run(): AppliedCasts {
    const { graph, outputs, entering } = this.#plan;
    for (const { name, role, value } of graph.inputs) {
      const type = { dtype: entering.get(value) ?? value.dtype, shape: value.shape };
      this.#copy.values.set(value, this.#copy.builder.input(name, type, role));
      this.#inputNames.set(value, name);
    }
    for (const node of graph.nodes) this.#rewrite(node);
    const results = graph.outputs.map(({ name, value }) => {
      const { scope = "", phase = "forward" } = this.#producers.get(value)?.origin ?? {};
      const dtype = outputs.get(value) ?? (isComputeFloat(value.dtype) ? value.dtype : undefined);
      return [name, this.#valueIn(value, dtype, { scope, phase }, `output ${name}`)] as const;
    });
    return {
      graph: this.#copy.builder.finish(new Map(results)),
      casts: this.#inserted,
      bodies: this.#bodies,
    };
  }

  #need(value: Value, dtype: DType): void {
    const dtypes = this.#needs.get(value);
    if (dtypes === undefined) this.#needs.set(value, new Set([dtype]));
    else dtypes.add(dtype);
  }

  #rewrite(node: AnyNode): void {
    const origin = this.#copy.origin(node);
    if (node.op === "Constant") {
      this.#rewriteConstant(node, origin);
      return;
    }
    const inputs = node.inputs.map((value) =>
      this.#valueIn(value, this.#plan.takes(node, value), origin, node.name),
    );
    if (node.op === "Scan" && castsBody(node)) {
      this.#rewriteScan(node, inputs, origin);
      return;
    }
    const [source] = inputs;
    const [result] = node.outputs;
    // A parameter kept in a half dtype: each reader takes it in its own dtype.
    if (this.#storedInHalf.has(node) && source !== undefined && result !== undefined) {
      this.#copy.replace(node, inputs);
      return;
    }
    const [output] = this.#copy.copy(node, origin, inputs);
    if (node.op === "Cast" && source !== undefined && output !== undefined) {
      this.#remember(source, output, origin);
    }
  }

  /** Casts the body of a scan. A carry keeps one dtype over all steps; other inputs keep their dtype from outside. */
  #rewriteScan(node: GraphNode<"Scan">, inputs: readonly Value[], origin: Origin): void {
    const { policy, options, weak } = this.#plan;
    const { body } = node.attributes;
    const entering = new Map<Value, ComputeDType>();
    body.inputs.forEach(({ value }, index) => {
      const { dtype } = inputs[index] as Value;
      if (isComputeFloat(dtype)) entering.set(value, dtype);
    });
    const leaving = new Map<Value, ComputeDType>();
    for (const { value } of body.outputs) {
      const dtype = carrierDType(value, policy);
      if (dtype !== undefined) leaving.set(value, dtype);
    }
    const asParameter = body.inputs.map((input, index) =>
      weak.has(node.inputs[index] as Value) ? { ...input, role: "parameter" as const } : input,
    );
    const plan = planCasts({ ...body, inputs: asParameter }, policy, options, { entering, leaving });
    const cast = applyCasts(plan);
    const outputs = this.#copy.builder.emit("Scan", inputs, { ...node.attributes, body: cast.graph }, origin);
    this.#copy.replace(node as AnyNode, outputs);
    this.#copy.names.set(node.name, this.#copy.builder.nodes.at(-1)?.name ?? node.name);
    this.#bodies.set(node as AnyNode, plan);
    for (const [inner, innerPlan] of cast.bodies) this.#bodies.set(inner, innerPlan);
    for (const one of cast.casts) this.#inserted.push(within(node, one));
  }

  #rewriteConstant(node: AnyNode & { readonly op: "Constant" }, origin: Origin): void {
    const [value] = node.outputs;
    if (value === undefined) return;
    const made = new Map<DType, Value>();
    for (const dtype of this.#needs.get(value) ?? [value.dtype]) {
      const attributes = isComputeFloat(dtype) ? constantIn(node.attributes, dtype) : node.attributes;
      made.set(dtype, this.#copy.builder.emitOne("Constant", [], attributes, origin));
    }
    this.#constants.set(value, made);
  }

  /**
   * Casts a value to a dtype right before its first use and not where it is made. Otherwise the f16 or bf16 copies of
   * all parameters would be live from the start, and widened activations for longer.
   */
  #valueIn(value: Value, dtype: ComputeDType | undefined, origin: Origin, before: string): Value {
    const constants = this.#constants.get(value);
    if (constants !== undefined) return constants.get(dtype ?? value.dtype) as Value;
    const source = this.#copy.counterpart(value);
    if (dtype === undefined || source.dtype === dtype) return source;
    const narrow = this.#narrow.get(source);
    if (narrow?.dtype === dtype) return narrow;
    const known = this.#casts.get(source)?.get(castKey(dtype, origin));
    if (known !== undefined) return known;
    const cast = this.#copy.builder.emitOne("Cast", [source], { to: dtype }, origin);
    this.#remember(source, cast, origin);
    const name = this.#producers.get(value)?.name ?? this.#inputNames.get(value) ?? "";
    this.#inserted.push({ value: name, from: source.dtype, to: dtype, before });
    return cast;
  }

  #remember(source: Value, cast: Value, origin: Origin): void {
    const casts = this.#casts.get(source) ?? new Map<string, Value>();
    this.#casts.set(source, casts);
    casts.set(castKey(cast.dtype, origin), cast);
    if (cast.dtype === "f32" && isComputeFloat(source.dtype)) this.#narrow.set(cast, source);
  }
}

/** Prefixes the node names of a cast in a scan's body with the scan's name. */
function within({ name }: GraphNode, { value, before, ...rest }: InsertedCast): InsertedCast {
  return { value: `${name}/${value}`, ...rest, before: `${name}/${before}` };
}

/** Key of a cast: its dtype and `remat` segment, because a recomputed value must not read a cast that was freed. */
function castKey(dtype: DType, { segment }: Origin): string {
  return `${dtype} ${segment ?? ""}`;
}
