/** A graph as nodes of a session that other programs share: what it feeds, what it reads, what a run commits. */
import { type HostTensor, zeros } from "@mp/core";
import type { Bound } from "@mp/core/backend";
import {
  type AnyNode,
  expandComposites,
  type Graph,
  type GraphNode,
  type Op,
  type Value,
  type ValueType,
} from "@mp/core/graph";
import { ConstantTable } from "../graph/constant-table.js";
import { receive, send } from "../graph/edges.js";
import type { NodeInit } from "../graph/node-def.js";
import { RunOrder } from "../graph/run-order.js";
import { ScopeWriter } from "../graph/scope-writer.js";
import { int, type Lowering, type } from "../graph/tf-writer.js";
import { inLayout } from "./layout.js";
import { lowerings } from "./lowerings.js";
import { isExpanded } from "./matrix.js";
import { inF32 } from "./twins.js";

/** An input or output that is transferred under that node name; without a name it has no elements. */
export interface Edge {
  readonly name: string;
  readonly type: ValueType;
  readonly node: string | undefined;
}

type Replacement = Bound["always"][number];

export interface Program {
  readonly nodes: readonly NodeInit[];
  /** Large constants, which are variables with those keys. */
  readonly constants: ReadonlyMap<string, HostTensor>;
  readonly inputs: readonly Edge[];
  readonly results: readonly Edge[];
  /** A scalar that exists once everything has been committed. */
  readonly done: string;
  /** The graph node that a session node belongs to. */
  nodeOf(engineNode: string): string | undefined;
}

export interface ProgramOptions {
  /** The prefix of all names, unique in the session. */
  readonly scope: string;
  readonly bound: Bound;
  /** The name of a slot's handle. */
  readonly handleOf: (slot: string) => string;
  /** Whether a node is computed in f32 because the engine has no correct kernel for its halves. */
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
  readonly #names = new Map<Value, string>();

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
    const { results, done } = this.#finish();
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
    const { bound, handleOf } = this.#options;
    const fed: Edge[] = [];
    for (const { name, value } of this.#graph.inputs) {
      const slot = bound.reads.get(name);
      this.#writer.enter(undefined, `input/${name}`);
      if (slot === undefined) {
        const received = receive(this.#writer, value);
        fed.push({ name, type: value, node: received.fed });
        this.#names.set(value, received.name);
      } else {
        const attributes = { dtype: type(value.dtype) };
        this.#names.set(value, this.#writer.one("ReadVariableOp", [handleOf(slot)], attributes));
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

  /** A failure in a body is one of its loop. */
  #body({ inputs, nodes, outputs }: Graph, given: readonly string[], path: string): readonly string[] {
    const { source } = this.#writer;
    inputs.forEach(({ value }, index) => {
      this.#names.set(value, given[index] as string);
    });
    this.#lowerAll(nodes, ({ name }) => this.#writer.enter(source, `${path}/${name}`));
    return outputs.map(({ value }) => this.#name(value));
  }

  #lower(node: AnyNode): void {
    const names = node.outputs.every(isEmpty)
      ? node.outputs.map(({ dtype, shape }) => this.#writer.constant(zeros(shape, dtype)))
      : this.#loweringOf(node)(
          node as GraphNode<Op>,
          node.inputs.map((value) => this.#name(value)),
          this.#writer,
        );
    for (const [index, value] of node.outputs.entries()) this.#names.set(value, names[index] as string);
  }

  #loweringOf(node: AnyNode): Lowering {
    const own = lowerings[node.op] as Lowering;
    // A loop moves halves; what its body computes in f32 is decided node by node.
    const isWidened = node.op !== "Scan" && this.#options.isWidened(node);
    return inLayout(isWidened ? inF32(own) : own);
  }

  /**
   * Everything that can fail runs before the gate, all assignments after it, and everything fetched after those: a run
   * that fails has changed nothing, and one that returns has committed. Slots are read before the gate as well: a read
   * that no result and no commit needs does not run at all.
   */
  #finish(): { readonly results: readonly Edge[]; readonly done: string } {
    const { bound } = this.#options;
    const writer = this.#writer;
    writer.enter(undefined, "commit");
    const values = new Map(this.#graph.outputs.map(({ name, value }) => [name, this.#name(value)]));
    const sent = this.#graph.outputs
      .filter(({ name }) => !bound.taken.has(name))
      .map(({ name, value }) => ({ name, type: value, value: send(writer, this.#name(value), value) }));
    const needed = [...values.values(), ...sent.flatMap(({ value }) => value ?? [])];
    const committed = this.#commit(values, writer.one("NoOp", [], {}, { after: needed }));
    writer.enter(undefined, "output");
    const done = writer.one("Identity", [writer.scalar(1, "i32")], { T: type("i32") }, { after: committed });
    const results = sent.map(({ name, type: own, value }): Edge => {
      if (value === undefined) return { name, type: own, node: undefined };
      const carried = { T: type(own.dtype === "f32" || own.dtype === "bool" ? own.dtype : "i32") };
      return { name, type: own, node: writer.one("Identity", [value], carried, { after: committed }) };
    });
    return { results, done };
  }

  /** @returns the nodes after which everything is committed */
  #commit(values: ReadonlyMap<string, string>, gate: string): readonly string[] {
    const { bound } = this.#options;
    const newValue = ({ output }: Replacement): string => values.get(output) as string;
    const always = bound.always.map((replacement) =>
      this.#assign(replacement, newValue(replacement), [gate]),
    );
    const { applied, whenApplied } = bound;
    const flag = applied === undefined ? undefined : values.get(applied);
    if (flag === undefined || whenApplied.length === 0) return [gate, ...always];
    return [gate, ...always, this.#commitWhen(flag, whenApplied, newValue, gate)];
  }

  /** Nodes that wait for the dead branch of a Switch do not run at all. The Merge runs in either case. */
  #commitWhen(
    flag: string,
    replacements: readonly Replacement[],
    newValue: (replacement: Replacement) => string,
    gate: string,
  ): string {
    const writer = this.#writer;
    const ofFlag = { T: type("bool") };
    const [skipped = "", taken = ""] = writer.emit("Switch", [flag, flag], ofFlag, {
      outputs: 2,
      after: [gate],
    });
    const applied = writer.one("Identity", [taken], ofFlag);
    const assigned = replacements.map((replacement) =>
      this.#assign(replacement, newValue(replacement), [applied]),
    );
    const after = writer.one("Identity", [applied], ofFlag, { after: assigned });
    return writer.one("Merge", [skipped, after], { ...ofFlag, N: int(2) }, { outputs: 2 });
  }

  #assign({ slot, output }: Replacement, value: string, after: readonly string[]): string {
    const { dtype } = this.#typeOf(output);
    const attributes = { dtype: type(dtype) };
    return this.#writer.one("AssignVariableOp", [this.#options.handleOf(slot), value], attributes, { after });
  }

  #typeOf(output: string): Value {
    const found = this.#graph.outputs.find(({ name }) => name === output);
    if (found === undefined) throw new Error(`internal: the graph has no output ${output}`);
    return found.value;
  }

  #name(value: Value): string {
    const name = this.#names.get(value);
    if (name === undefined) throw new Error(`internal: value %${value.id} has no name`);
    return name;
  }
}

/** There is nothing to compute, and many of the engine's kernels refuse such shapes. */
const isEmpty = ({ shape }: Value): boolean => shape.includes(0);
