/** Writes a graph as nodes of a session that programs share: inputs, results, and the commit of a run. */
import {
  type AnyNode,
  expandComposites,
  type Graph,
  type GraphNode,
  type HostTensor,
  type Op,
  type Value,
  type ValueType,
  zeros,
} from "@mp/graph";
import type { Bound } from "@mp/graph/backend";
import { int, type } from "../graph/attributes.js";
import { carrierDType } from "../graph/carrier.js";
import { ConstantTable } from "../graph/constant-table.js";
import { receive, send } from "../graph/edges.js";
import type { NodeInit } from "../graph/node-def.js";
import { RunOrder } from "../graph/run-order.js";
import { ScopeWriter } from "../graph/scope-writer.js";
import type { Term } from "../graph/term.js";
import { inF32 } from "./in-f32.js";
import { inLayout } from "./layout.js";
import type { Lowering, Operands } from "./lowering.js";
import { lowerings } from "./lowerings.js";
import { isExpanded } from "./matrix.js";

/** An input or output; `node` feeds or fetches it, and is undefined for a tensor without elements. */
export interface Edge {
  readonly name: string;
  readonly type: ValueType;
  readonly node: string | undefined;
}

type Replacement = Bound["always"][number];

export interface Program {
  readonly nodes: readonly NodeInit[];
  /** Large constants by the keys of their variables. */
  readonly constants: ReadonlyMap<string, HostTensor>;
  readonly inputs: readonly Edge[];
  readonly results: readonly Edge[];
  /** A scalar to fetch, which is computed after everything has been committed. */
  readonly done: string;
  /** The name of the graph node to which a session node belongs. */
  nodeOf(engineNode: string): string | undefined;
}

export interface ProgramOptions {
  /** Prefix of the names of all nodes, unique in the session. */
  readonly scope: string;
  readonly bound: Bound;
  /** The name of the variable handle of a slot. */
  readonly handle: (slot: string) => string;
  /** Whether a node is computed in f32 because the engine has no correct kernel for its half dtype. */
  readonly isWidened: (node: AnyNode) => boolean;
}

export function lowerProgram(graph: Graph, options: ProgramOptions): Program {
  const expanded = expandComposites(graph, isExpanded);
  const program = new ProgramLowering(expanded.graph, options).run();
  return {
    ...program,
    nodeOf: (engineNode) => {
      const name = program.nodeOf(engineNode);
      return name === undefined ? undefined : expanded.sourceOf(name);
    },
  };
}

class ProgramLowering {
  readonly #graph: Graph;
  readonly #options: ProgramOptions;
  readonly #constants = new ConstantTable();
  readonly #writer: ScopeWriter;
  readonly #terms = new Map<Value, Term>();

  constructor(graph: Graph, options: ProgramOptions) {
    this.#graph = graph;
    this.#options = options;
    this.#writer = new ScopeWriter(options.scope, this.#constants, (body, inputs, path) =>
      this.#body(body, inputs, path),
    );
  }

  run(): Program {
    const writer = this.#writer;
    const inputs = this.#inputs();
    this.#lowerAll(this.#graph.nodes, (node) => writer.enter(node.name));
    const { results, done } = this.#finish(new Set(inputs.map(({ node }) => node)));
    return {
      nodes: writer.nodes,
      constants: this.#constants.tensors,
      inputs,
      results,
      done,
      nodeOf: (engineNode) => writer.sources.get(engineNode),
    };
  }

  #inputs(): readonly Edge[] {
    const { bound, handle } = this.#options;
    const fed: Edge[] = [];
    for (const { name, value } of this.#graph.inputs) {
      const slot = bound.reads.get(name);
      this.#writer.enter(undefined, `input/${name}`);
      if (slot === undefined) {
        const received = receive(this.#writer, value);
        fed.push({ name, type: value, node: received.fed });
        this.#set(value, received.name);
      } else {
        const attributes = { dtype: type(value.dtype) };
        this.#set(value, this.#writer.one("ReadVariableOp", [handle(slot)], attributes));
      }
    }
    return fed;
  }

  #lowerAll(nodes: readonly AnyNode[], enter: (node: AnyNode) => void): void {
    const order = new RunOrder(this.#writer);
    for (const node of nodes) {
      enter(node);
      order.begin();
      this.#lower(node);
      order.end(node);
    }
  }

  /** Lowers a loop's body. Its nodes belong to the loop's graph node, so the loop's node reports failures. */
  #body({ inputs, nodes, outputs }: Graph, given: readonly Term[], path: string): readonly Term[] {
    const { source } = this.#writer;
    inputs.forEach(({ value }, index) => {
      this.#set(value, given[index]?.name);
    });
    this.#lowerAll(nodes, ({ name }) => this.#writer.enter(source, `${path}/${name}`));
    return outputs.map(({ value }) => this.#term(value));
  }

  #lower(node: AnyNode): void {
    const terms = node.outputs.every(isEmpty)
      ? node.outputs.map(({ dtype, shape }) => this.#writer.constant(zeros(shape, dtype)))
      : this.#lowering(node)(
          node as GraphNode<Op>,
          node.inputs.map((value) => this.#term(value)) as unknown as Operands,
          this.#writer,
        );
    for (const [index, value] of node.outputs.entries()) this.#set(value, terms[index]?.name);
  }

  #lowering(node: AnyNode): Lowering {
    const own = lowerings[node.op] as Lowering;
    // A loop's own values keep their half dtype; for its body, the decision is made node by node.
    const isWidened = node.op !== "Scan" && this.#options.isWidened(node);
    return inLayout(isWidened ? inF32(own) : own);
  }

  /**
   * Adds a gate node. Everything that can fail runs before it, all assignments after it, and fetches after
   * the assignments. So a run that fails has changed nothing, and a run that returns has committed. Slots are
   * also read before the gate; a read that no result and no commit needs does not run at all. Without assignments,
   * results are fetched directly, except those that are fed, which TensorFlow refuses, and those that nodes read, which
   * it may fuse away (x · sigmoid(x), in 2.21): to prepare one more node takes it longer than to run a small one.
   */
  #finish(fed: ReadonlySet<string | undefined>): {
    readonly results: readonly Edge[];
    readonly done: string;
  } {
    const { bound } = this.#options;
    const writer = this.#writer;
    writer.enter(undefined, "commit");
    const values = new Map(this.#graph.outputs.map(({ name, value }) => [name, this.#term(value)]));
    const sent = this.#graph.outputs
      .filter(({ name }) => !bound.taken.has(name))
      .map(({ name, value }) => ({ name, type: value, value: send(writer, this.#term(value).name, value) }));
    const needed = [...values.values(), ...sent.flatMap(({ value }) => value ?? [])];
    const committed = this.#commit(values, writer.one("NoOp", [], {}, { after: needed }));
    const commits = committed.length > 1;
    const kept = new Set(commits ? [] : [...fed, ...writer.nodes.flatMap(({ input }) => input)]);
    writer.enter(undefined, "output");
    const done = writer.one("Identity", [writer.scalar(1, "i32")], { T: type("i32") }, { after: committed });
    const results = sent.map(({ name, type: own, value }): Edge => {
      if (value === undefined) return { name, type: own, node: undefined };
      const plain = writer.resolve(value);
      if (!commits && !kept.has(plain)) return { name, type: own, node: plain };
      const attributes = { T: type(carrierDType(own.dtype)) };
      return { name, type: own, node: writer.one("Identity", [value], attributes, { after: committed }) };
    });
    return { results, done };
  }

  /** Adds the assignments to slots. @returns nodes after which everything is committed */
  #commit(values: ReadonlyMap<string, Term>, gate: string): readonly string[] {
    const { always, applied, whenApplied } = this.#options.bound;
    const assign = ({ slot, output }: Replacement, after: string): string => {
      const value = values.get(output) as Term;
      const inputs = [this.#options.handle(slot), value];
      return this.#writer.one("AssignVariableOp", inputs, { dtype: type(value.dtype) }, { after: [after] });
    };
    const assigned = always.map((replacement) => assign(replacement, gate));
    const flag = applied === undefined ? undefined : values.get(applied);
    if (flag === undefined || whenApplied.length === 0) return [gate, ...assigned];
    const assignAll = (after: string): readonly string[] =>
      whenApplied.map((replacement) => assign(replacement, after));
    return [gate, ...assigned, this.#commitWhen(flag, assignAll, gate)];
  }

  /** Assigns only if the flag is true, because nodes on a Switch's dead branch do not run. The Merge always runs. */
  #commitWhen(flag: Term, assignAll: (after: string) => readonly string[], gate: string): string {
    const writer = this.#writer;
    const ofFlag = { T: type("bool") };
    const [skipped = "", taken = ""] = writer.emit("Switch", [flag, flag], ofFlag, {
      outputs: 2,
      after: [gate],
    });
    const applied = writer.one("Identity", [taken], ofFlag);
    const after = writer.one("Identity", [applied], ofFlag, { after: assignAll(applied) });
    return writer.one("Merge", [skipped, after], { ...ofFlag, N: int(2) }, { outputs: 2 });
  }

  /** Records the name of a value as a term with the type that the graph declares. */
  #set(value: Value, name: string | undefined): void {
    if (name === undefined) throw new Error(`internal: value %${value.id} has no name`);
    this.#terms.set(value, this.#writer.at(name, value));
  }

  #term(value: Value): Term {
    const term = this.#terms.get(value);
    if (term === undefined) throw new Error(`internal: value %${value.id} has no name`);
    return term;
  }
}

/** Whether a value has no elements; many engine kernels refuse such values. */
const isEmpty = ({ shape }: Value): boolean => shape.includes(0);
