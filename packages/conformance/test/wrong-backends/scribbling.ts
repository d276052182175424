/** A backend that computes as the oracle does and overwrites every array that it is given. */
import { type Backend, type HostTensor, isNode, type State } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { wrapped } from "./wrapped.js";

/** Sets every byte of a tensor to a value that no case expects. */
function scribble(given: unknown): void {
  const { data } = given as Partial<HostTensor>;
  if (ArrayBuffer.isView(data)) new Uint8Array(data.buffer, data.byteOffset, data.byteLength).fill(0xa5);
}

const scribbleAll = (given: Readonly<Record<string, unknown>>): void =>
  Object.values(given).forEach(scribble);

/** Overwrites inputs of runs, values of states, uploads, and the constants of graphs. */
export async function scribbling(): Promise<Backend> {
  return wrapped(await reference(), {
    upload: async (tensor, right) => {
      const handle = await right(tensor);
      scribble(tensor);
      return handle;
    },
    createState: async (values, right) => {
      const state = await right(values);
      scribbleAll(values);
      return state;
    },
    state: (state: State) => ({
      write: async (values) => {
        await state.write(values);
        scribbleAll(values);
      },
    }),
    executable: (executable, { graph }) => {
      for (const node of graph.nodes) if (isNode(node, "Constant")) scribble(node.attributes.value);
      return {
        run: async (inputs) => {
          const results = await executable.run(inputs);
          scribbleAll(inputs);
          return results;
        },
      };
    },
  });
}
