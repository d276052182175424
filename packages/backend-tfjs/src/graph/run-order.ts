import { type AnyNode, byteLength, type Value } from "@mp/graph";
import type { ScopeWriter } from "./scope-writer.js";

/** Number of heavy nodes that may run at once: enough for both threads of a small machine to find a ready node. */
const WINDOW = 4;
/** A node is heavy if one of its values has at least this size. Other nodes hardly matter to the peak memory. */
const HEAVY_BYTES = 64 * 1024;

/**
 * Orders the nodes that read or write large tensors, here called heavy. TensorFlow runs any node that is ready, so it
 * may compute values long before they are read, and keep values whose last reader could have run. With this order, each
 * heavy node waits for the heavy node `WINDOW` places before it in the schedule, so memory stays close to what the
 * schedule needs.
 */
export class RunOrder {
  readonly #writer: ScopeWriter;
  /** The last TensorFlow node of each heavy graph node. */
  readonly #heavy: string[] = [];
  #from = 0;

  constructor(writer: ScopeWriter) {
    this.#writer = writer;
  }

  begin(): void {
    this.#from = this.#writer.nodes.length;
  }

  /** Ends the graph node that has been lowered since `begin`. */
  end(node: AnyNode): void {
    const made = this.#writer.nodes
      .slice(this.#from)
      .filter(({ op }) => op !== "Const" && op !== "ReadVariableOp");
    const { frame } = this.#writer;
    // Nodes inside a loop are ordered separately.
    const last = made.findLast((each) => this.#writer.givesIn(each) === frame);
    if (last === undefined || ![...node.inputs, ...node.outputs].some(isHeavy)) return;
    const before = this.#heavy[this.#heavy.length - WINDOW];
    this.#heavy.push(last.name);
    if (before === undefined) return;
    const own = new Set(made.map(({ name }) => name));
    for (const each of made) {
      if (this.#writer.readsIn(each) !== frame) continue;
      // The other nodes of this graph node wait for these.
      const isEntry = !each.input.some((name) => own.has(name.replace(/^\^|:\d+$/g, "")));
      if (isEntry) each.input.push(`^${before}`);
    }
  }
}

const isHeavy = (value: Value): boolean => byteLength(value) >= HEAVY_BYTES;
