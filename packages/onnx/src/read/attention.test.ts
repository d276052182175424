import { printGraph } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { f32, of, reading, refusal } from "../../test/small-models.js";
import { float, int, type OnnxAttributes } from "../model.js";

const inputs = (...shapes: readonly (readonly number[])[]) =>
  shapes.map((shape, index) => f32(["q", "k", "v", "m", "past"][index] ?? "", ...shape));

const attention = (
  attributes: OnnxAttributes,
  shapes: readonly (readonly number[])[],
  names: readonly string[] = ["q", "k", "v", "m", "past"].slice(0, shapes.length),
  outputs: readonly string[] = ["y"],
) => reading({ inputs: inputs(...shapes), nodes: [of("Attention", attributes, names, outputs)] });

const text = (...given: Parameters<typeof attention>): string => printGraph(attention(...given).graph);

const Q = [2, 4, 3, 16];
const K = [2, 2, 5, 16];

describe("Attention of a file", () => {
  it("takes the scale and the attributes that ONNX has by default", () => {
    expect(text({}, [Q, K, K])).toContain(
      "f32[2, 4, 3, 16] = Attention(%0, %1, %2) {scale=0.25 isCausal=false softcap=0}",
    );
    const given = { scale: float(2), is_causal: int(1), softcap: float(5), softmax_precision: int(1) };
    expect(text(given, [Q, K, K, [3, 5]])).toContain(
      "Attention(%0, %1, %2, %3) {scale=2 isCausal=true softcap=5}",
    );
  });

  it("splits operands of three axes into heads, and joins the result", () => {
    const read = text({ q_num_heads: int(4), kv_num_heads: int(2) }, [
      [2, 3, 64],
      [2, 5, 32],
      [2, 5, 16],
    ]);
    expect(read).toMatch(/Reshape\(%0\) \{shape=\[2,3,4,16\]\}/);
    expect(read).toMatch(/f32\[2, 4, 3, 8\] = Attention\(.*scale=0\.25/);
    expect(read).toMatch(/f32\[2, 3, 32\] = Reshape/);
  });

  it("gives keys and values as those that a next step would get", () => {
    const { graph } = reading({
      inputs: inputs(Q, K, K),
      nodes: [of("Attention", {}, ["q", "k", "v"], ["y", "pk", "pv"])],
      outputs: [f32("y", ...Q), f32("pk", ...K)],
    });
    expect(graph.outputs[1]?.value).toBe(graph.inputs[1]?.value);
  });

  it.each([
    [
      "keys of before without values",
      () => attention({}, [Q, K, K, [3, 5], K], ["q", "k", "v", "m", "past"]),
      "positions of keys and values",
    ],
    [
      "scores of a stage that is unknown",
      () => attention({ qk_matmul_output_mode: int(4) }, [Q, K, K], undefined, ["y", "", "", "scores"]),
      "gives scores by mode 4",
    ],
    ["a softmax in f64", () => attention({ softmax_precision: int(11) }, [Q, K, K]), "softmax in f64"],
    [
      "heads that do not divide the columns",
      () =>
        attention({ q_num_heads: int(3), kv_num_heads: int(1) }, [
          [2, 3, 64],
          [2, 5, 16],
          [2, 5, 16],
        ]),
      "divides 64 columns into 3 heads",
    ],
    [
      "no number of heads",
      () =>
        attention({}, [
          [2, 3, 64],
          [2, 5, 16],
          [2, 5, 16],
        ]),
      "into 0 heads",
    ],
    ["a mask of more keys", () => attention({}, [Q, K, K, [3, 6]]), "mask of [3, 6] needs 2 to 4 axes"],
  ])("refuses %s", (_, read, message) => {
    const text = refusal(read);
    expect(text).toMatch(/^MP_UNSUPPORTED: onnx: Attention of opset 23/);
    expect(text).toContain(message);
  });
});
