// Compares models of one node with onnx.reference, whose results are in core's fixture.
import { readFileSync } from "node:fs";
import { type HostTensor, tensor } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import {
  float,
  int,
  type OnnxAttributes,
  type OnnxInitializer,
  onnxGraph,
  onnxModel,
  onnxNode,
  string,
} from "../model.js";
import { readGraph } from "./read.js";

interface Numbers {
  readonly shape: readonly number[];
  readonly data: readonly number[];
}
interface Case {
  readonly op: string;
  readonly options: Readonly<Record<string, number | string | readonly number[]>>;
  readonly inputs: readonly Numbers[];
  readonly output: Numbers;
}
const cases = JSON.parse(
  readFileSync(new URL("../../../graph/test/fixtures/image-ops.json", import.meta.url), "utf8"),
) as readonly Case[];

const names: Readonly<Record<string, string>> = {
  numGroups: "num_groups",
  blockSize: "blocksize",
  coordinates: "coordinate_transformation_mode",
  nearest: "nearest_mode",
};

function attributesOf(options: Case["options"]): OnnxAttributes {
  const entries = Object.entries(options).filter(([name]) => name !== "sizes" && name !== "scales");
  return Object.fromEntries(
    entries.map(([name, value]) => {
      const isInteger = name === "size" || name === "numGroups" || name === "blockSize";
      const attribute =
        typeof value === "string" ? string(value) : isInteger ? int(Number(value)) : float(Number(value));
      return [names[name] ?? name, attribute];
    }),
  );
}

/** The target of a Resize as constant operands: sizes or scales of all axes. */
function targetOf({ options, inputs }: Case): {
  readonly operands: readonly string[];
  readonly made: OnnxInitializer[];
} {
  const shape = inputs[0]?.shape ?? [];
  const { sizes, scales } = options;
  const given = sizes ?? scales;
  if (given === undefined || typeof given === "string") return { operands: [], made: [] };
  const each = typeof given === "number" ? shape.slice(2).map(() => given) : given;
  const isSizes = sizes !== undefined;
  const data: HostTensor = isSizes
    ? tensor(BigInt64Array.from([...shape.slice(0, 2), ...each], BigInt), [shape.length], "i64")
    : tensor(Float32Array.from([1, 1, ...each]));
  return {
    operands: isSizes ? ["", "", "target"] : ["", "target"],
    made: [{ name: "target", tensor: data }],
  };
}

function modelOf(entry: Case, changes: OnnxAttributes = {}) {
  const inputs = entry.inputs.map((_, index) => `x${index}`);
  const { operands, made } = targetOf(entry);
  const attributes = { ...attributesOf(entry.options), ...changes };
  const node = onnxNode(entry.op, [...inputs, ...operands], ["y"], { name: "node", attributes });
  const info = (name: string, shape: readonly number[]) => ({
    name,
    type: { elementType: "f32" as const, shape },
    metadata: {},
  });
  const graph = onnxGraph("case", {
    inputs: inputs.map((name, index) => info(name, entry.inputs[index]?.shape ?? [])),
    outputs: [info("y", entry.output.shape)],
    initializers: made,
    nodes: [node],
  });
  return onnxModel(graph);
}

describe("operators for pictures", () => {
  const titled = cases.map(
    (entry) => [`${entry.op} ${JSON.stringify(entry.options)} ${entry.inputs[0]?.shape}`, entry] as const,
  );

  it.each(titled)("%s", (_, entry) => {
    const { graph } = readGraph(modelOf(entry));
    const inputs = entry.inputs.map(
      ({ shape, data }, index) => [`x${index}`, tensor(Float32Array.from(data), shape)] as const,
    );
    const { y } = evaluate(graph, Object.fromEntries(inputs));
    expect(y?.shape).toEqual(entry.output.shape);
    entry.output.data.forEach((want, at) => {
      expect(Math.abs(Number(y?.data[at]) - want)).toBeLessThan(4e-6 * Math.max(1, Math.abs(want)));
    });
  });

  const resize = cases.find(({ op, options }) => op === "Resize" && options["mode"] === "linear") as Case;

  it("takes PyTorch's name for half pixels", () => {
    const named = modelOf(resize, { coordinate_transformation_mode: string("pytorch_half_pixel") });
    expect(readGraph(named).graph.nodes).toEqual(readGraph(modelOf(resize)).graph.nodes);
  });

  it.each([
    ["another mode", { mode: string("bilinear") }, /has "bilinear" for mode/],
    [
      "crops to nothing",
      { coordinate_transformation_mode: string("tf_crop_and_resize") },
      /crops to no region/,
    ],
    [
      "another ratio of sides",
      { keep_aspect_ratio_policy: string("wide") },
      /keeps the ratio of its sides by "wide"/,
    ],
  ])("refuses %s", (_, changes, message) => {
    expect(() => readGraph(modelOf(resize, changes as OnnxAttributes))).toThrow(
      expect.objectContaining({ code: "MP_UNSUPPORTED", message: expect.stringMatching(message) }),
    );
  });
});
