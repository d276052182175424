import { type AnyNode, type Backend, type GraphInput, type HostTensor, isNode } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { delegate } from "../../src/delegate.js";
import { evaluateNode } from "./kernels.js";

/** A backend that casts a slot to a half dtype once per executable and keeps the copy, whatever is committed later. */
export async function staleCasts(): Promise<Backend> {
  const backend = await reference();
  return delegate(backend, {
    compile: async (graph, options = {}) => {
      const { state, bindings = [] } = options;
      const slots = new Map(
        bindings.map(({ slot, input }) => [graph.inputs.find(({ name }) => name === input)?.value, slot]),
      );
      const isCached = (node: AnyNode): boolean =>
        isNode(node, "Cast") && slots.has(node.inputs[0]) && ["f16", "bf16"].includes(node.attributes.to);
      const cached = graph.nodes.filter(isCached);
      if (state === undefined || cached.length === 0) return backend.compile(graph, options);
      const extra = cached.map(
        (node): GraphInput => ({
          name: `cached ${node.name}`,
          role: "state",
          value: node.outputs[0] as GraphInput["value"],
        }),
      );
      const rest = graph.nodes.filter((node) => !isCached(node));
      const executable = await backend.compile(
        { ...graph, inputs: [...graph.inputs, ...extra], nodes: rest },
        options,
      );
      let copies: Readonly<Record<string, HostTensor>> | undefined;
      return {
        warnings: executable.warnings,
        profile: async () => [],
        memory: () => executable.memory?.() ?? { peakBytes: 0 },
        dispose: () => executable.dispose(),
        run: async (inputs) => {
          if (copies === undefined) {
            const values = await state.read();
            copies = Object.fromEntries(
              cached.map((node) => {
                const value = values[slots.get(node.inputs[0]) ?? ""] as HostTensor;
                const [copy] = isNode(node, "Cast") ? evaluateNode("Cast", [value], node.attributes) : [];
                return [`cached ${node.name}`, copy as HostTensor];
              }),
            );
          }
          return executable.run({ ...inputs, ...copies });
        },
      };
    },
  });
}
