import { type DType, GraphBuilder, type OpAttributes, type Shape, type Value, zeros } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { Emitter, type EmitterOptions } from "../stablehlo/index.js";
import { emitGraph } from "./emit-graph.js";

type Emit<K extends keyof OpAttributes> = readonly [op: K, attributes: OpAttributes[K]];

/** The program text of one node. Operands have the dtype, or are i32 where a shape says so. */
function textOf<K extends keyof OpAttributes>(
  [op, attributes]: Emit<K>,
  dtype: DType,
  shapes: readonly (Shape | { readonly i32: Shape })[],
  options: EmitterOptions = { tf32: false, devices: 1 },
): string {
  const builder = new GraphBuilder();
  const values = shapes.map((given, index): Value => {
    const type = "i32" in given ? { dtype: "i32" as const, shape: given.i32 } : { dtype, shape: given };
    return builder.input(`x${index}`, type, "batch");
  });
  const [y] = builder.emit(op, values, attributes);
  const graph = builder.finish({ y: y as Value });
  const emitter = new Emitter(options);
  emitGraph(
    emitter,
    graph,
    graph.inputs.map(({ name, value }) => ({ name: `%${name}`, type: value })),
  );
  return emitter.text();
}

const count = (text: string, part: string): number => text.split(part).length - 1;

const plain = { strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1] };

describe("a convolution", () => {
  const conv: Emit<"Conv"> = ["Conv", { ...plain, group: 1 }];
  const shapes: readonly Shape[] = [
    [1, 2, 4, 4],
    [3, 2, 2, 2],
  ];

  it("of f32 has the highest precision, unless TF32 is asked for", () => {
    expect(textOf(conv, "f32", shapes)).toContain("precision HIGHEST");
    expect(textOf(conv, "f32", shapes, { tf32: true, devices: 1 })).not.toContain("precision");
  });

  it("of halves is one operation, since XLA would convert the operands of one with an f32 result", () => {
    const text = textOf(conv, "bf16", shapes);
    expect(text.split("\n")).toHaveLength(1);
    expect(text).toContain("(tensor<1x2x4x4xbf16>, tensor<3x2x2x2xbf16>) -> tensor<1x3x3x3xbf16>");
  });

  it("of halves adds its bias in f32 on a processor, and where cuDNN takes it in, in the half", () => {
    const added = (isProcessor: boolean): string =>
      /stablehlo.add .* : (.*)/.exec(
        textOf(conv, "f16", [...shapes, [3]], { tf32: false, devices: 1, isProcessor }),
      )?.[1] ?? "";
    expect(added(true)).toBe("tensor<1x3x3x3xf32>");
    expect(added(false)).toBe("tensor<1x3x3x3xf16>");
  });

  it("that is transposed reverses the weights right before it, by which XLA knows it", () => {
    const transposed: Emit<"ConvTranspose"> = [
      "ConvTranspose",
      { ...plain, group: 1, outputPadding: [0, 0] },
    ];
    const [reverse, product] = textOf(transposed, "f32", [
      [1, 3, 3, 3],
      [3, 2, 2, 2],
    ])
      .split("\n")
      .slice(-2);
    expect(reverse).toContain("stablehlo.reverse");
    expect(product).toContain(`(%x0, ${reverse?.split(" ")[0]})`);
  });
});

describe("the gradient of a maximum", () => {
  const gradient = (given: Partial<OpAttributes["MaxPoolGradient"]>, pooled: Shape): string =>
    textOf(["MaxPoolGradient", { ...plain, kernelShape: [3, 3], ceilMode: false, ...given }], "f32", [
      pooled,
      [1, 1, 9, 9],
      pooled,
    ]);

  it("adds as many terms as windows lie over one element", () => {
    const adds = (text: string): number => count(text, "stablehlo.add ");
    expect(adds(gradient({ strides: [3, 3] }, [1, 1, 3, 3]))).toBe(0);
    expect(adds(gradient({ strides: [2, 2] }, [1, 1, 4, 4]))).toBe(3);
    expect(adds(gradient({ kernelShape: [9, 9] }, [1, 1, 1, 1]))).toBe(0);
    expect(adds(gradient({ dilations: [2, 2] }, [1, 1, 5, 5]))).toBe(24);
  });
});

describe("a scatter", () => {
  const scatter = (reduction: OpAttributes["ScatterND"]["reduction"], dtype: DType): string =>
    textOf(["ScatterND", { reduction }], dtype, [[5, 2], { i32: [4, 1] }, [4, 2]]);

  it("has places that are all different, and replaces what is there", () => {
    for (const reduction of ["none", "add", "max"] as const) {
      const text = scatter(reduction, "f32");
      expect(text).toContain("unique_indices = true");
      expect(text).toMatch(/\^bb0\(%\d+: tensor<f32>, (%\d+): tensor<f32>\):\nstablehlo.return \1 /);
    }
  });

  it("combines halves in f32, and moves them as they are", () => {
    expect(scatter("add", "bf16")).toMatch(/stablehlo.add .* : tensor<4x2xf32>/);
    expect(scatter("add", "bf16")).not.toContain("tensor<5x2xf32>");
    expect(scatter("none", "bf16")).not.toContain("f32");
  });

  describe("of one index along the axis", () => {
    const one = (
      reduction: OpAttributes["ScatterElements"]["reduction"],
      dtype: DType,
      indices: Shape = [4, 1],
    ): string =>
      textOf(["ScatterElements", { axis: 1, reduction }], dtype, [[4, 5], { i32: indices }, indices]);

    it("is a selection, in f32 only where halves are combined", () => {
      for (const reduction of ["none", "add", "mul", "max", "min"] as const) {
        const text = one(reduction, "f32");
        expect(text).not.toMatch(/scatter|gather|sort/);
        expect(text.split("\n").at(-1)).toMatch(/select .*, %x0 : tensor<4x5xi1>, tensor<4x5xf32>$/);
      }
      expect(one("add", "f16")).toMatch(/stablehlo.add .* : tensor<4x5xf32>/);
      expect(one("none", "f16")).not.toContain("f32");
    });

    it("is not if there are more, or fewer rows", () => {
      expect(one("add", "f32", [4, 2])).toContain("stablehlo.scatter");
      expect(one("add", "f32", [3, 1])).toContain("stablehlo.scatter");
    });
  });
});

describe("for a GPU, what XLA would choose worse", () => {
  const sum = (axes: readonly number[]): Emit<"ReduceSum"> => ["ReduceSum", { axes, keepdims: false }];
  const ordered = (axes: readonly number[], options?: EmitterOptions): boolean =>
    textOf(sum(axes), "f32", [[2, 3, 4]], options).includes("LayoutConstraint");

  it("is the order of axes in memory, where a sum over the first ones leaves several", () => {
    expect([[0], [1], [2], [0, 1], [1, 2]].map((axes) => ordered(axes))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(ordered([0], { tf32: false, isProcessor: true, devices: 1 })).toBe(false);
  });

  it("is the type that large products of halves leave", () => {
    const product = (size: number, options?: EmitterOptions): boolean => {
      const text = textOf(
        ["MatMul", {}],
        "bf16",
        [
          [size, 64],
          [64, 64],
        ],
        options,
      );
      return text.includes(`-> tensor<${size}x64xbf16>`) && !text.includes("convert");
    };
    expect([1, 15, 16].map((size) => product(size))).toEqual([false, false, true]);
    expect(product(16, { tf32: false, isProcessor: true, devices: 1 })).toBe(false);
  });

  it("is a table of zeros that a scatter begins with, and that others would read", () => {
    const builder = new GraphBuilder();
    const places = builder.input("places", { dtype: "i32", shape: [4, 1] }, "batch");
    const rows = builder.input("rows", { dtype: "f32", shape: [4, 2] }, "batch");
    const table = builder.emitOne("Constant", [], { value: zeros([8, 2]) });
    const y = builder.emitOne("ScatterND", [table, places, rows], { reduction: "add" });
    const emitter = new Emitter({ tf32: false, devices: 1 });
    const operands = [places, rows].map((type, index) => ({ name: `%x${index}`, type }));
    emitGraph(emitter, builder.finish({ y }), operands);
    expect(emitter.text()).toMatch(/optimization_barrier[\s\S]*stablehlo\.scatter/);
    expect(count(emitter.text(), `"stablehlo.gather"(`)).toBe(1);
  });
});
