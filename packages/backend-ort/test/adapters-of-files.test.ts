// LoRA beside models of ONNX files: random stacks of our own layers, exported, and linear layers as exporters write them.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { adamW, float32, mixedFloat16, ops, predictor, sgd, type Traced, trainer } from "@mp/core";
import {
  encodeArray,
  type HostTensor,
  isHostTensor,
  isTensor,
  key,
  leavesOf,
  mapTree,
  rebuildTree,
  type Tensor,
  tensor,
  traceInto,
  zeros,
} from "@mp/graph";
import { evaluate, reference } from "@mp/graph/reference";
import * as nn from "@mp/nn";
import { type Lora, loadAdapter, lora, saveAdapter } from "@mp/nn/adapters";
import {
  encodeModel,
  exportOnnx,
  float,
  fromOnnx,
  int,
  type OnnxGraph,
  type OnnxNode,
  onnxGraph,
  onnxModel,
  onnxNode,
  type TrainableModel,
} from "@mp/onnx";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ort } from "../src/index.js";

const RUNS = 6;
let engines: readonly Awaited<ReturnType<typeof reference | typeof ort>>[] = [];
beforeAll(async () => {
  engines = [await reference(), await ort()];
});
afterAll(() => Promise.all(engines.map((engine) => engine.dispose())));

type Tree = ReturnType<TrainableModel["init"]>;

const wave = (shape: readonly number[], phase: number, size = 0.5): HostTensor<"f32"> =>
  tensor(
    Float32Array.from(
      { length: shape.reduce((product, each) => product * each, 1) },
      (_, at) => size * Math.sin(2.3 * at + phase),
    ),
    shape,
  ) as HostTensor<"f32">;

/** Adapters that change something. */
const moved = <T>(adapters: T): T =>
  mapTree<unknown, HostTensor, HostTensor>(adapters as never, isHostTensor, ({ shape }, path) =>
    wave(shape, path.length),
  ) as T;

/** The tree with W + scale · B · A in the places of weights, computed before the model reads any. */
function direct(
  { places, settings: { rank, alpha } }: Lora<never, unknown>,
  adapters: unknown,
  base: unknown,
): never {
  const narrow = new Map(leavesOf(adapters, isTensor, "adapters") as readonly (readonly [string, Tensor])[]);
  const at = new Map(places.map((place) => [place.path, place]));
  return mapTree<unknown, Tensor, Tensor>(base as never, isTensor, (weight, path) => {
    const place = at.get(path);
    if (place === undefined) return weight;
    const [down, up] = ["A", "B"].map((name) => narrow.get(`${path}/lora_${name}/weight`)) as [
      Tensor,
      Tensor,
    ];
    const product = ops.mul(ops.matMul(up, down), alpha / rank);
    return ops.add(weight, place.isInputsFirst ? ops.transpose(product, [1, 0]) : product);
  }) as never;
}

const numbersOf = (tree: unknown): readonly number[] =>
  leavesOf(tree as never, isHostTensor, "tree").flatMap(([, { data }]) => Array.from(data as Float32Array));

function expectClose(got: unknown, want: unknown, most = 2e-5): void {
  const [found, wanted] = [numbersOf(got), numbersOf(want)];
  expect(found.length).toBe(wanted.length);
  const largest = Math.max(1, ...wanted.map(Math.abs));
  const differences = found.map((value, at) => Math.abs(value - (wanted[at] as number)));
  expect(Math.max(0, ...differences)).toBeLessThan(most * largest);
}

type Model = (params: Traced<{ base: Tree; adapters: Tree }>, x: Tensor) => Tensor;

/** The adapters after a step of SGD at rate 1, and so their gradients. */
async function stepped(engine: (typeof engines)[number], model: Model, params: never, x: HostTensor) {
  await using training = await trainer({
    backend: engine,
    params: params as { base: Tree; adapters: Tree },
    frozen: { base: true },
    loss: (weights, batch: { readonly x: Tensor }) =>
      ops.reduceMean(ops.square(ops.sub(model(weights as never, batch.x), 0.3))),
    optimizer: sgd({ learningRate: 1 }),
    precision: float32(),
  });
  const { loss } = await training.step({ x });
  const { base, adapters } = await training.parameters();
  return { loss: tensor(Float32Array.of(loss)), base, adapters };
}

async function expectRight(file: Uint8Array, x: HostTensor, targets: "all-linear" | readonly string[]) {
  const model = await fromOnnx(file, { onWarning: () => undefined });
  const adapted = lora(model, { rank: 2, alpha: 3, targets });
  const params = { base: model.init(), adapters: moved(adapted.init(key(1))) };
  const besides: Model = ({ base, adapters }, input) => adapted.apply(adapters as never, base, input)[0];
  const directly: Model = ({ base, adapters }, input) =>
    model.apply(direct(adapted as never, adapters, base), input)[0];
  const plainly: Model = ({ base }, input) => model.apply(base, input)[0];
  for (const engine of engines) {
    const found = await stepped(engine, besides, params as never, x);
    const wanted = await stepped(engine, directly, params as never, x);
    expect(found.base).toEqual(params.base);
    expectClose(found, wanted);
    const outputs = async (of: Model, weights: unknown): Promise<HostTensor> => {
      const serving = await predictor({
        backend: engine,
        model: (traced: never, input: { readonly x: Tensor }) => of(traced, input.x),
        params: weights as never,
        precision: float32(),
      });
      const result = (await serving.predict({ x } as never)) as HostTensor;
      await serving.dispose();
      return result;
    };
    const changed = await outputs(besides, params);
    const merged = adapted.merge(params.adapters, params.base);
    expectClose(await outputs(plainly, { base: merged, adapters: {} }), changed);
    const start = { ...params, adapters: adapted.init(key(1)) };
    expect(await outputs(besides, start)).toEqual(await outputs(plainly, start));
    const again = exportOnnx(model, { params: merged, state: {} } as never, {
      inputs: { [model.inputs[0] as string]: { shape: x.shape } },
    });
    const reread = await fromOnnx(encodeModel(again), { onWarning: () => undefined });
    const fromFile: Model = ({ base }, input) => reread.apply(base, input)[0];
    expectClose(await outputs(fromFile, { base: reread.init(), adapters: {} }), changed);
  }
  return adapted;
}

const WIDTH = 8;
type Block = "dense" | "attention" | "encoder" | "norm" | "residual" | "tanh" | "gelu";

function layerOf(block: Block): nn.Layer<never> | ((x: Tensor) => Tensor) {
  const blocks: Readonly<Record<Block, unknown>> = {
    dense: nn.dense(WIDTH, WIDTH),
    attention: nn.multiHeadAttention(WIDTH, 2, { isCausal: true }),
    encoder: nn.encoderLayer(WIDTH, 2),
    norm: nn.layerNorm(WIDTH),
    residual: nn.residual(nn.dense(WIDTH, WIDTH)),
    tanh: ops.tanh,
    gelu: nn.gelu,
  };
  return blocks[block] as never;
}

describe("lora beside a model that our layers exported", () => {
  const block = fc.constantFrom<Block>("dense", "attention", "encoder", "norm", "residual", "tanh", "gelu");
  it("computes and learns as the weights W + scale · B · A do, and merges into them", () =>
    fc.assert(
      fc.asyncProperty(fc.array(block, { maxLength: 3 }), fc.nat(), fc.nat(), async (blocks, seed, first) => {
        const model = nn.asModel(nn.sequential(...([...blocks, "dense" as const].map(layerOf) as [])));
        const x = wave([2, 3, WIDTH], seed, 1);
        const inputs = { x: { shape: x.shape } };
        const dynamicAxes = { x: { 0: "batch" } };
        const params = model.init(key(seed));
        const file = encodeModel(exportOnnx(model, { params, state: {} } as never, { inputs, dynamicAxes }));
        const { linearLayers } = await fromOnnx(file);
        const one = linearLayers[first % linearLayers.length]?.path.replaceAll("/", ".") as string;
        const some = await expectRight(file, x, seed % 2 === 0 ? "all-linear" : [one]);
        expect(some.places.length).toBe(seed % 2 === 0 ? linearLayers.length : 1);
      }),
      { numRuns: RUNS },
    ));
});

interface Place {
  readonly weight: number;
  /** Which of the forms that the weight's layout allows. */
  readonly form: number;
  readonly hasBias: boolean;
}

const SIZE = 4;

/** Products in a row; a weight of an odd number is [outputs, inputs]. */
function chain(places: readonly Place[], dtype: "f32" | "f16" = "f32"): OnnxGraph {
  const stored = (tensor: HostTensor<"f32">): HostTensor => (dtype === "f32" ? tensor : halves(tensor));
  const nodes = places.flatMap(({ weight, form, hasBias }, at): readonly OnnxNode[] => {
    const [x, product, y] = [at === 0 ? "x" : `y${at - 1}`, `product${at}`, `y${at}`];
    const name = `layer.${weight}.weight`;
    const bias = hasBias ? onnxNode("Add", [product, "bias"], [y]) : onnxNode("Tanh", [product], [y]);
    const gemm = onnxNode("Gemm", [x, name, "bias"], [product], { attributes: { transB: int(weight % 2) } });
    if (form === 0) return [gemm, bias];
    if (weight % 2 === 0) return [onnxNode("MatMul", [x, name], [product]), bias];
    const turned = `turned${at}`;
    return [onnxNode("Transpose", [name], [turned]), onnxNode("MatMul", [x, turned], [product]), bias];
  });
  const weights = [...new Set(places.map(({ weight }) => weight))];
  return onnxGraph("chain", {
    inputs: [{ name: "x", type: { elementType: dtype, shape: ["batch", SIZE] }, metadata: {} }],
    initializers: [
      { name: "bias", tensor: stored(wave([SIZE], 9)) },
      ...weights.map((weight) => ({
        name: `layer.${weight}.weight`,
        tensor: stored(wave([SIZE, SIZE], weight)),
      })),
    ],
    nodes,
    outputs: [{ name: `y${places.length - 1}`, metadata: {} }],
  });
}

const halves = ({ data, shape }: HostTensor<"f32">): HostTensor =>
  tensor(encodeArray("f16", data) as Uint16Array, shape, "f16");

const encoded = (graph: OnnxGraph): Uint8Array => encodeModel(onnxModel(graph));
const quiet = { onWarning: () => undefined };

describe("lora beside the linear layers of other exporters", () => {
  const place = fc.record({ weight: fc.nat(3), form: fc.nat(1), hasBias: fc.boolean() });
  it("finds Gemm, MatMul and transposed weights, also shared ones", () =>
    fc.assert(
      fc.asyncProperty(fc.array(place, { minLength: 1, maxLength: 4 }), async (places) => {
        const found = await expectRight(encoded(chain(places)), wave([3, SIZE], 5, 1), "all-linear");
        const wanted = [...new Set(places.map(({ weight }) => weight))].map((weight) => ({
          path: `layer/${weight}/weight`,
          inputs: SIZE,
          outputs: SIZE,
          isInputsFirst: weight % 2 === 0,
          isHead: false,
        }));
        expect([...found.places].sort((a, b) => (a.path < b.path ? -1 : 1))).toEqual(
          wanted.sort((a, b) => (a.path < b.path ? -1 : 1)),
        );
      }),
      { numRuns: RUNS },
    ));

  const weight = "layer.0.weight";
  it.each<readonly [string, readonly OnnxNode[]]>([
    ["a table", [onnxNode("Gather", [weight, "places"], ["other"])]],
    ["a factor", [onnxNode("Mul", [weight, weight], ["other"])]],
    [
      "a matrix of both layouts",
      [onnxNode("Gemm", ["x", weight], ["other"], { attributes: { transB: int(1) } })],
    ],
    [
      "a part of a scaled product",
      [onnxNode("Gemm", ["x", weight], ["other"], { attributes: { alpha: float(2) } })],
    ],
    ["the first operand", [onnxNode("MatMul", [weight, "x"], ["other"])]],
    ["a bias", [onnxNode("Gemm", ["x", "more", weight], ["other"])]],
    ["an output", [onnxNode("Transpose", [weight], ["other"])]],
  ])("leaves out a weight that is also %s", async (_, nodes) => {
    const graph = chain([{ weight: 0, form: 1, hasBias: false }]);
    const more = onnxGraph("more", {
      ...graph,
      initializers: [
        ...graph.initializers,
        { name: "places", tensor: tensor(BigInt64Array.of(0n, 1n)) },
        { name: "more", tensor: wave([SIZE, SIZE], 3) },
      ],
      nodes: [...graph.nodes, ...nodes],
      outputs: [...graph.outputs, { name: "other", metadata: {} }],
    });
    const { linearLayers } = await fromOnnx(encoded(more), quiet);
    expect(linearLayers.map(({ path }) => path)).not.toContain("layer/0/weight");
  });

  const two = encoded(
    chain([
      { weight: 0, form: 1, hasBias: false },
      { weight: 1, form: 0, hasBias: true },
    ]),
  );
  it("takes targets by their names in the file, and says which there are", async () => {
    const model = await fromOnnx(two, quiet);
    const pathsOf = (targets: readonly string[]): readonly string[] =>
      lora(model, { targets }).places.map(({ path }) => path);
    expect(pathsOf(["layer.1.weight"])).toEqual(["layer/1/weight"]);
    expect(() => pathsOf(["bias"])).toThrow(/must name linear layers of the model, which are weight/);
    const none = await fromOnnx(two, { ...quiet, isParameter: (name) => name === "bias" });
    expect(() => lora(none)).toThrow(/the model has no linear layers/);
  });

  it("keeps adapters in files, and refuses those of another model", async () => {
    const folder = await mkdtemp(join(tmpdir(), "mp-adapters-of-files-"));
    try {
      const model = await fromOnnx(two, quiet);
      const adapted = lora(model, { rank: 2, targets: ["layer.1.weight"] });
      const adapters = moved(adapted.init(key(1)));
      await saveAdapter(folder, adapted, adapters);
      const loaded = await loadAdapter(folder, model);
      expect(loaded.adapters).toEqual(adapters);
      expect(loaded.adapted.settings).toEqual(adapted.settings);
      const other = await fromOnnx(encoded(chain([{ weight: 0, form: 1, hasBias: false }])), quiet);
      await expect(loadAdapter(folder, other)).rejects.toMatchObject({ code: "MP_CHECKPOINT_MISMATCH" });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("drops what an adapter reads, in training alone", async () => {
    const graph = chain([{ weight: 0, form: 1, hasBias: true }]);
    const model = await fromOnnx(encoded(graph), quiet);
    const one = tensor(
      Float32Array.from({ length: SIZE * SIZE }, (_, at) => (at % (SIZE + 1) === 0 ? 1 : 0)),
      [SIZE, SIZE],
    );
    const nothing = mapTree<unknown, HostTensor, HostTensor>(model.init(), isHostTensor, ({ shape }) =>
      zeros(shape),
    );
    const adapted = lora(model, { rank: SIZE, alpha: SIZE, dropout: 0.5 });
    const adapters = { layer: { 0: { weight: { lora_A: { weight: one }, lora_B: { weight: one } } } } };
    const x = wave([50, SIZE], 1, 1);
    const output = (training: boolean): readonly number[] => {
      const given = leavesOf({ adapters, base: nothing, x }, isHostTensor, "given");
      const inputs = given.map(([name, type]) => ({ name, role: "batch" as const, type }));
      const { graph: traced } = traceInto(inputs, (tensors) => {
        const all = rebuildTree({ adapters, base: nothing, x }, isHostTensor, tensors) as never as {
          adapters: never;
          base: never;
          x: Tensor;
        };
        return adapted.apply(all.adapters, all.base, all.x, { training, key: key(2) })[0];
      });
      return numbersOf(evaluate(traced, Object.fromEntries(given)));
    };
    expect(output(false)).toEqual([...x.data]);
    const dropped = output(true);
    const kept = dropped.flatMap((value, at) => (value === 0 ? [] : [value / (x.data[at] as number)]));
    expect(kept.every((factor) => factor === 2)).toBe(true);
    expect(Math.abs(kept.length / dropped.length - 0.5)).toBeLessThan(0.15);
  });

  it("of a file in halves compute as its weights do", async () => {
    const places = [0, 1].map((form) => ({ weight: 1, form, hasBias: true }));
    const model = await fromOnnx(encoded(chain(places, "f16")), quiet);
    const adapted = lora(model, { rank: 2 });
    const params = { base: model.init(), adapters: moved(adapted.init(key(1))) };
    const x = wave([3, SIZE], 5, 1);
    for (const engine of engines) {
      await using training = await trainer({
        backend: engine,
        params,
        frozen: { base: true },
        loss: ({ base, adapters }, batch: { readonly x: Tensor }) => {
          const [y] = adapted.apply(adapters, base, batch.x);
          const [wanted] = model.apply(direct(adapted as never, adapters, base), batch.x);
          return {
            loss: ops.reduceMean(ops.square(y)),
            metrics: { error: ops.reduceMax(ops.abs(ops.sub(y, wanted))) },
          };
        },
        optimizer: adamW({ learningRate: 1e-2 }),
        precision: mixedFloat16(),
        ...quiet,
      });
      let applied = 0;
      for (let step = 0; step < 20; step++) {
        const result = await training.step({ x });
        if (result.applied) applied++;
        expect(result.metrics["error"]).toBeLessThan(1e-2);
      }
      expect(applied).toBeGreaterThan(10);
    }
  });

  it("keeps optimizer state for adapters alone", async () => {
    const wide = onnxGraph("wide", {
      inputs: [{ name: "x", type: { elementType: "f32", shape: ["batch", 256] }, metadata: {} }],
      initializers: [0, 1, 2].map((at) => ({ name: `w${at}`, tensor: wave([256, 256], at, 0.1) })),
      nodes: [0, 1, 2].map((at) => onnxNode("MatMul", [at === 0 ? "x" : `y${at}`, `w${at}`], [`y${at + 1}`])),
      outputs: [{ name: "y3", metadata: {} }],
    });
    const model = await fromOnnx(encoded(wide), quiet);
    const adapted = lora(model, { rank: 4 });
    const x = wave([2, 256], 5, 1);
    const measured = async (frozen: boolean) => {
      await using training = await trainer({
        backend: engines[1] as (typeof engines)[number],
        params: { base: model.init(), adapters: adapted.init(key(1)) },
        frozen: frozen ? { base: true } : {},
        loss: ({ base, adapters }, batch: { readonly x: Tensor }) =>
          ops.reduceMean(ops.square(adapted.apply(adapters, base, batch.x)[0])),
        optimizer: adamW({ learningRate: 1e-2 }),
        precision: float32(),
      });
      await training.step({ x });
      const { byteLength } = await training.saveBytes();
      return { peak: (await training.peakBytes()) ?? 0, byteLength };
    };
    const [all, alone] = [await measured(false), await measured(true)];
    const weights = 3 * 4 * 256 ** 2;
    expect(all.byteLength - alone.byteLength).toBeGreaterThan(1.99 * weights);
    expect(alone.peak).toBeLessThan(0.2 * all.peak);
  });
});
