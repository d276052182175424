/**
 * The body of the scan that computes a scan's gradient. Each step turns the result gradients of a forward step into
 * that step's operand gradients. Values that the forward step computed are residuals, which the forward scan stacks.
 */
import { isComputeFloat } from "../../dtype.js";
import type { OpAttributes } from "../../graph/attributes.js";
import { GraphBuilder } from "../../graph/build/builder.js";
import { type AnyNode, type Graph, type Origin, producers, type Value } from "../../graph/graph.js";
import { customRules } from "./custom.js";
import type { Differentiate, EmittedGradient } from "./gradient-request.js";
import { gradientDType } from "./rule.js";
import { isFree, type StepTerm, stepTerms } from "./step-terms.js";

/** Which outputs of the scan receive a gradient, and which inputs need a gradient, by position. */
export interface AskedGradients {
  readonly receives: (output: number) => boolean;
  readonly needs: (input: number) => boolean;
}

/** Source of a value per step: an operand of the scan, a result's gradient, a residual or a stacked output. */
export type StepSource =
  | { readonly kind: "input" | "gradient"; readonly position: number }
  | { readonly kind: "residual"; readonly value: Value }
  /** Output of the backward scan; `position` counts the stacked outputs after the gradients of the sequences. */
  | { readonly kind: "stacked"; readonly position: number };

/** The gradient of an invariant: a sum over steps. */
export interface InvariantGradient {
  /** The invariant's position among the scan's inputs. */
  readonly input: number;
  /** Terms that are computed for all steps together, with the sources of their operands. */
  readonly terms: readonly (StepTerm & { readonly sources: readonly StepSource[] })[];
  /** Whether a carry of the backward scan sums the other terms. Such carries have the order of `gradients`. */
  readonly isAccumulated: boolean;
}

export interface BackwardBody {
  /**
   * Inputs: gradients of the carries, accumulators (f32), sequences, invariants. Outputs: the same carries, gradients
   * of the sequences, values to stack.
   */
  readonly body: Graph;
  /** Positions of the forward inputs whose gradients are the first carries. */
  readonly carries: readonly number[];
  readonly sequences: readonly StepSource[];
  /** Positions of the forward inputs that are the invariants. */
  readonly invariants: readonly number[];
  /** Positions of the forward inputs whose gradients are stacked. */
  readonly elements: readonly number[];
  readonly gradients: readonly InvariantGradient[];
  /** Values of the forward body that the forward scan has to stack. */
  readonly residuals: readonly Value[];
}

const ORIGIN: Origin = { scope: "", phase: "backward" };

/**
 * Builds the backward body of a scan whose nested scans already stack their residuals. The caller passes
 * `differentiate`, since a rule cannot import the table of all rules.
 */
export function backwardBody(
  scan: OpAttributes["Scan"],
  asked: AskedGradients,
  differentiate: Differentiate,
): BackwardBody {
  return new Backward(scan, asked).run(differentiate);
}

class Backward {
  readonly #scan: OpAttributes["Scan"];
  readonly #asked: AskedGradients;
  readonly #builder = new GraphBuilder();
  /** Maps each copy in the builder to the value of the forward body that it copies. */
  readonly #forward = new Map<Value, Value>();
  /** Values of the builder that are available for every step, or would be if the forward scan stacked them. */
  readonly #known = new Map<Value, StepSource>();
  /** Inputs of the builder for the gradients of the scan's outputs, by position. */
  readonly #seeds = new Map<number, Value>();

  constructor(scan: OpAttributes["Scan"], asked: AskedGradients) {
    this.#scan = scan;
    this.#asked = asked;
  }

  run(differentiate: Differentiate): BackwardBody {
    const { carries, sequences } = this.#scan;
    const gradients = this.#differentiated(differentiate);
    const positions = [...gradients.keys()];
    const gradientAt = (position: number): Value => (gradients.get(position) as EmittedGradient).value;
    const carried = positions.filter((position) => position < carries);
    const elements = positions.filter((position) => position >= carries && position < carries + sequences);
    const sums = positions
      .filter((position) => position >= carries + sequences && gradients.get(position)?.isReached === true)
      .map((input) => ({
        input,
        ...stepTerms(this.#builder, gradientAt(input), (value) => this.#isPerStep(value)),
      }));
    const accumulated = sums.flatMap(({ rest }) => rest ?? []);
    const stacked: Value[] = [];
    const terms = sums.map(({ input, terms, rest }) => ({
      input,
      terms: terms.map((term) => ({
        ...term,
        sources: term.operands.map((value) => this.#sourceOf(value, stacked)),
      })),
      isAccumulated: rest !== undefined,
    }));
    const closing = new Closing(this.#builder, this.#forward, this.#known, this.#scan.body);
    for (const position of carried) closing.carry(this.#seeds.get(position) as Value, gradientAt(position));
    for (const value of accumulated) closing.accumulate(value);
    for (const value of [...elements.map(gradientAt), ...stacked]) closing.stack(value);
    const closed = closing.run();
    const read = terms.flatMap((sum) => sum.terms.flatMap(({ sources }) => sources));
    const residuals = [...closed.sequences, ...read].flatMap((source) =>
      source.kind === "residual" ? [source.value] : [],
    );
    return { ...closed, carries: carried, elements, gradients: terms, residuals: [...new Set(residuals)] };
  }

  /** Copies the body into the builder and differentiates it. Returns gradients by the position of the input. */
  #differentiated(differentiate: Differentiate): ReadonlyMap<number, EmittedGradient> {
    const { body, carries, sequences, saved } = this.#scan;
    const builder = this.#builder;
    builder.origin = ORIGIN;
    const inputs = body.inputs.map(({ name, value, role }) => builder.input(`forward/${name}`, value, role));
    body.outputs.slice(0, body.outputs.length - saved).forEach(({ value }, output) => {
      if (!isComputeFloat(value.dtype) || !(output < carries || this.#asked.receives(output))) return;
      const type = { dtype: gradientDType(value.dtype), shape: value.shape };
      const seed = builder.input(`gradient/${output}`, type, "capture");
      this.#seeds.set(output, seed);
      if (output >= carries) this.#known.set(seed, { kind: "gradient", position: output });
    });
    const copy = builder.inlineAll(body, inputs);
    const makers = producers(body);
    const positions = new Map(body.inputs.map(({ value }, position) => [value, position]));
    for (const [value, made] of copy.values) {
      this.#forward.set(made, value);
      const position = positions.get(value);
      const isSequence = position !== undefined && position >= carries && position < carries + sequences;
      if (isSequence) this.#known.set(made, { kind: "input", position });
      else if (position === undefined ? makers.get(value)?.op !== "Constant" : position < carries)
        this.#known.set(made, { kind: "residual", value });
    }
    const wanted = body.inputs.flatMap(({ value }, position) =>
      isComputeFloat(value.dtype) && (position < carries || this.#asked.needs(position)) ? [position] : [],
    );
    const emitted = differentiate(builder, {
      graph: body,
      values: copy.values,
      names: copy.names,
      seeds: [...this.#seeds].map(([output, seed]) => [body.outputs[output]?.value as Value, seed] as const),
      wrt: wanted.map((position) => body.inputs[position]?.value as Value),
    });
    return new Map(wanted.map((position, index) => [position, emitted[index] as EmittedGradient]));
  }

  /** Whether a value may differ between steps, unlike invariants and constants. */
  #isPerStep(value: Value): boolean {
    return this.#known.has(value) || !this.#forward.has(value);
  }

  #sourceOf(value: Value, stacked: Value[]): StepSource {
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    if (!stacked.includes(value)) stacked.push(value);
    return { kind: "stacked", position: stacked.indexOf(value) };
  }
}

/** Extracts the backward part of a graph; values that the forward part computes become inputs. */
class Closing {
  readonly #source: GraphBuilder;
  readonly #forward: ReadonlyMap<Value, Value>;
  readonly #known: ReadonlyMap<Value, StepSource>;
  readonly #positions: ReadonlyMap<Value, number>;
  readonly #closed = new GraphBuilder();
  readonly #values = new Map<Value, Value>();
  readonly #results: { readonly value: Value; readonly sum?: Value }[] = [];

  constructor(
    source: GraphBuilder,
    forward: ReadonlyMap<Value, Value>,
    known: ReadonlyMap<Value, StepSource>,
    body: Graph,
  ) {
    this.#source = source;
    this.#forward = forward;
    this.#known = known;
    this.#positions = new Map(body.inputs.map(({ value }, position) => [value, position]));
    this.#closed.origin = ORIGIN;
  }

  carry(from: Value, to: Value): void {
    this.#values.set(from, this.#closed.input(`carry/${this.#results.length}`, from, "capture"));
    this.#results.push({ value: to });
  }

  accumulate(value: Value): void {
    const type = { dtype: "f32" as const, shape: value.shape };
    const sum = this.#closed.input(`sum/${this.#results.length}`, type, "capture");
    this.#results.push({ value, sum });
  }

  stack(value: Value): void {
    this.#results.push({ value });
  }

  run(): Pick<BackwardBody, "body" | "sequences" | "invariants"> {
    const { nodes, entering } = this.#needed();
    const sequences: StepSource[] = [];
    const invariants: number[] = [];
    for (const value of entering) {
      const source = this.#known.get(value);
      if (source === undefined) continue;
      this.#enter(value, `element/${sequences.length}`);
      sequences.push(source);
    }
    for (const value of entering) {
      if (this.#known.has(value)) continue;
      this.#enter(value, `invariant/${invariants.length}`);
      invariants.push(this.#positions.get(this.#forward.get(value) as Value) as number);
    }
    for (const node of nodes) this.#copy(node);
    const outputs = this.#results.map(({ value, sum }, index): readonly [string, Value] => {
      const result = this.#values.get(value) as Value;
      return [String(index), sum === undefined ? result : this.#added(sum, result)];
    });
    return { body: this.#closed.finish(new Map(outputs)), sequences, invariants };
  }

  #enter(value: Value, name: string): void {
    this.#values.set(value, this.#closed.input(name, value, "capture"));
  }

  #copy(node: AnyNode): void {
    const inputs = node.inputs.map((input) => this.#values.get(input) as Value);
    const outputs = this.#closed.emit(node.op, inputs, node.attributes, node.origin);
    node.outputs.forEach((output, index) => {
      this.#values.set(output, outputs[index] as Value);
    });
  }

  #added(sum: Value, term: Value): Value {
    const wide = term.dtype === "f32" ? term : this.#closed.emitOne("Cast", [term], { to: "f32" });
    return this.#closed.emitOne("Add", [sum, wide], {});
  }

  /** The nodes that the results need, in order, and the forward values and gradients that they start from. */
  #needed(): { readonly nodes: readonly AnyNode[]; readonly entering: readonly Value[] } {
    const makers = producers(this.#source);
    const rules = customRules(this.#source.nodes);
    const nodes = new Set<AnyNode>();
    const entering = new Set<Value>();
    // Iterating over a set also visits elements that are added meanwhile.
    const reached = new Set(this.#results.map(({ value }) => value));
    for (const value of reached) {
      if (this.#values.has(value)) continue;
      const node = makers.get(value);
      const isMadeAgain = node !== undefined && (node.op === "Constant" || isFree(node));
      if (node === undefined || (this.#forward.has(value) && !isMadeAgain)) {
        entering.add(value);
        continue;
      }
      const rule = rules.get(value);
      for (const needed of rule === undefined ? [node] : [node, rule]) {
        nodes.add(needed);
        for (const input of needed.inputs) reached.add(input);
      }
    }
    return { nodes: this.#source.nodes.filter((node) => nodes.has(node)), entering: [...entering] };
  }
}
