import { elementCount, type Graph, isNode, MpError } from "@mp/graph";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { quote } from "./problem.js";

/** Limits on an engine's work for a graph, so that a short file cannot demand hours or all memory. */
export interface ReadLimits {
  /** Steps of a loop, multiplied by the steps of the loops around it. Default 100 000. */
  readonly loopSteps?: number;
  /** Elements of any one value. Default 2^30. */
  readonly elements?: number;
}

const limit = checks.claim("a number above 0", (value) => typeof value === "number" && value > 0);
const LIMITS = { loopSteps: withDefault(100_000, limit), elements: withDefault(2 ** 30, limit) };

/** Fills in the defaults. @throws MP_INVALID_ARGUMENT for an unknown name or a limit that is not a positive number */
export const readLimits = (given: ReadLimits = {}): Required<ReadLimits> =>
  readOptions<ReadLimits, typeof LIMITS>("limits", given, LIMITS, { example: "{ loopSteps: 1e6 }" });

/** @throws MP_INVALID_ARGUMENT for wrong limits, MP_OUT_OF_RANGE naming the node that exceeds a limit */
export function expectWithin(graph: Graph, given: ReadLimits = {}, around = 1): void {
  const limits = readLimits(given);
  const expect = (name: keyof ReadLimits, node: string, value: number, what: string): void => {
    if (value <= limits[name]) return;
    throw new MpError(
      "MP_OUT_OF_RANGE",
      `onnx: ${quote(node)} ${what}, above limits.${name} of ${limits[name]}; if the file is trusted, pass limits: { ${name}: ${value} }`,
      { details: { node, limit: limits[name], value } },
    );
  };
  for (const node of graph.nodes) {
    for (const { shape } of node.outputs) {
      const elements = elementCount(shape, node.name);
      expect("elements", node.name, elements, `has a value of ${elements} elements`);
    }
    if (!isNode(node, "Scan")) continue;
    const steps = around * node.attributes.length;
    expect("loopSteps", node.name, steps, `makes ${steps} steps`);
    expectWithin(node.attributes.body, limits, steps);
  }
}
