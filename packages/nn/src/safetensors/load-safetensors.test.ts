// Weights that PyTorch and transformers wrote, and what their models give, in double precision.
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type HostTensor, key, MpError, type Tensor, tensor } from "@mp/core";
import {
  add,
  expand,
  gather,
  matMul,
  range,
  reduceMean,
  reshape,
  slice,
  tanh,
  transpose,
} from "@mp/core/ops";
import { save } from "@mp/safetensors";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { numbers, run } from "../../test/run-layer.js";
import {
  batchNorm,
  bidirectional,
  convolution,
  dense,
  embedding,
  encoderLayer,
  groupNorm,
  gru,
  layerNorm,
  lstm,
  lstmState,
  multiHeadAttention,
  rmsNorm,
  transposedConvolution,
} from "../index.js";
import { loadSafetensors } from "./index.js";

const folder = fileURLToPath(new URL("../../test/fixtures/safetensors", import.meta.url));
const expected = JSON.parse(await readFile(join(folder, "expected.json"), "utf8"));
const indices = (name: string, shape: readonly number[]): HostTensor<"i32"> =>
  tensor(Int32Array.from(expected[name]), shape);

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "mp-safetensors-"));
});
afterAll(() => rm(directory, { recursive: true }));

function expectClose(got: readonly number[], name: string): void {
  const want: readonly number[] = expected[name].data;
  expect(got.length).toBe(want.length);
  for (const [at, value] of want.entries()) expect(Math.abs(Number(got[at]) - value)).toBeLessThan(1e-5);
}

const mixed = {
  embed: embedding(11, 6),
  lstm: lstm(6, 5),
  gru: gru(5, 4),
  attention: multiHeadAttention(4, 2),
  norm: layerNorm(4),
  conv: convolution(4, 6, [3], { padding: 1, groups: 2 }),
  bn: batchNorm(6),
  up: transposedConvolution(6, 4, [2], { stride: 2 }),
  groups: groupNorm(2, 4),
  head: dense(4, 3),
};
const mixedStart = {
  params: Object.fromEntries(
    Object.entries(mixed).map(([name, layer]) => [name, layer.init(key(1)) as object]),
  ) as {
    readonly [K in keyof typeof mixed]: ReturnType<(typeof mixed)[K]["init"]>;
  },
  modelState: { bn: mixed.bn.initState() },
};

function mixedOutput(loaded: typeof mixedStart): readonly number[] {
  const data = {
    params: loaded.params,
    modelState: loaded.modelState,
    ids: indices("mixedIds", [5, 2]),
    lstm: lstmState(2, 5),
    gru: tensor(new Float32Array(8), [2, 4]),
  };
  const context = { training: false, key: key(0) as never };
  return numbers(
    run(data, ({ params, modelState, ids, lstm: state, gru: hidden }) => {
      const { y: first } = mixed.lstm.apply(params.lstm, { x: mixed.embed.apply(params.embed, ids), state });
      const { y: second } = mixed.gru.apply(params.gru, { x: first, hidden });
      const x = transpose(second, [1, 0, 2]);
      const normed = mixed.norm.apply(params.norm, add(x, mixed.attention.apply(params.attention, x)));
      const convolved = mixed.conv.apply(params.conv, transpose(normed, [0, 2, 1]));
      const [y] = mixed.bn.apply(params.bn, convolved, { ...context, modelState: modelState.bn });
      const grouped = mixed.groups.apply(params.groups, mixed.up.apply(params.up, y));
      return mixed.head.apply(params.head, reduceMean(grouped, { axes: [2], keepdims: false }));
    }),
  );
}

describe("PyTorch's layers", () => {
  it.each(["f32", "f64", "f16", "bf16"])("of %s give what they give there", async (dtype) => {
    const loaded = await loadSafetensors(join(folder, `mixed-${dtype}.safetensors`), mixedStart);
    expectClose(mixedOutput(loaded), `mixed-${dtype}`);
    expect(loaded.report).toMatchObject({
      mismatched: [],
      missing: [],
      unexpected: [],
      ignored: ["bn.num_batches_tracked"],
    });
    expect(loaded.report.matched).toContainEqual({
      path: "params/lstm/bias",
      from: ["lstm.bias_ih_l0", "lstm.bias_hh_l0"],
    });
  });
});

const layers = [encoderLayer(8, 2, { hidden: 12 }), encoderLayer(8, 2, { hidden: 12 })];
const gptLayers = layers.map(() => encoderLayer(8, 2, { hidden: 12, norm: "pre" }));

describe("models of transformers", () => {
  it("BERT, by a list of pairs", async () => {
    const parts = {
      word: embedding(13, 8),
      position: embedding(6, 8),
      type: embedding(2, 8),
      norm: layerNorm(8),
    };
    const pooler = dense(8, 8);
    const params = {
      embeddings: {
        word: parts.word.init(key(1)),
        position: parts.position.init(key(2)),
        type: parts.type.init(key(3)),
        norm: parts.norm.init(key(4)),
      },
      layers: layers.map((layer, at) => layer.init(key(at))),
      pooler: pooler.init(key(9)),
    };
    const loaded = await loadSafetensors(
      join(folder, "bert.safetensors"),
      { params },
      {
        rename: [
          [/^embeddings\.(word|position)_embeddings/, "embeddings.$1"],
          ["embeddings.token_type_embeddings", "embeddings.type"],
          ["embeddings.LayerNorm", "embeddings.norm"],
          ["encoder.layer.", "layers."],
          [/attention\.output\.LayerNorm/, "attentionNorm"],
          [/attention\.self\./, "attention."],
          [/attention\.output\.dense/, "attention.output"],
          [/intermediate\.dense/, "expand"],
          [/output\.dense/, "contract"],
          [/output\.LayerNorm/, "norm"],
          ["pooler.dense", "pooler"],
        ],
      },
    );
    const allowed = tensor(Uint8Array.of(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0), [2, 1, 1, 6], "bool");
    const result = run(
      { ...loaded.params, ids: indices("bertIds", [2, 6]), mask: allowed },
      ({ embeddings, ids, mask, ...rest }) => {
        const sum = add(
          add(parts.word.apply(embeddings.word, ids), embeddings.position.table),
          slice(embeddings.type.table, [{ axis: 0, start: 0, end: 1 }]),
        );
        let x = parts.norm.apply(embeddings.norm, sum);
        for (const [at, layer] of layers.entries())
          x = layer.apply(rest.layers[at] as never, { x, mask }) as Tensor;
        const first = reshape(slice(x, [{ axis: 1, start: 0, end: 1 }]), [2, 8]);
        return tanh(pooler.apply(rest.pooler, first));
      },
    );
    expectClose(numbers(result), "bert");
  });

  it("GPT-2 in shards, by a function, whose kernels are [inputs, outputs]", async () => {
    const norm = layerNorm(8);
    const params = {
      wte: embedding(13, 8).init(key(1)),
      wpe: embedding(6, 8).init(key(2)),
      h: gptLayers.map((layer, at) => layer.init(key(at))),
      ln_f: norm.init(key(3)),
    };
    const names: Readonly<Record<string, string>> = {
      "attn.c_attn": "attention.in_proj",
      "attn.c_proj": "attention.out_proj",
      ln_1: "attentionNorm",
      ln_2: "norm",
      "mlp.c_fc": "expand",
      "mlp.c_proj": "contract",
    };
    const loaded = await loadSafetensors(
      join(folder, "gpt2/model.safetensors.index.json"),
      { params },
      {
        inputsFirst: true,
        rename: (name) =>
          name
            .replace("transformer.", "")
            .replace(/(?<=h\.\d+\.)(.*)(?=\.\w+$)/, (module) => names[module] ?? module),
      },
    );
    const past = tensor(
      Uint8Array.from({ length: 36 }, (_, at) => Number(at % 6 <= Math.floor(at / 6))),
      [6, 6],
      "bool",
    );
    const result = run({ ...loaded.params, ids: indices("gpt2Ids", [2, 6]), past }, (p) => {
      let x = add(gather(p.wte.table, p.ids), gather(p.wpe.table, expand(range(0, 6), [2, 6])));
      for (const [at, layer] of gptLayers.entries())
        x = layer.apply(p.h[at] as never, { x, mask: p.past }) as Tensor;
      return matMul(norm.apply(p.ln_f, x), transpose(p.wte.table, [1, 0]));
    });
    expectClose(numbers(result), "gpt2");
  });
});

it("an RMSNorm, and an LSTM of two directions by its names", async () => {
  const like = { params: { norm: rmsNorm(2).init(key(1)), lstm: bidirectional(lstm(1, 1)).init(key(1)) } };
  const row = (first: number, shape: readonly number[]) =>
    ({
      dtype: "F32",
      shape,
      data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, at) => first + at),
    }) as const;
  const direction = (first: number, suffix: string) => ({
    [`lstm.weight_ih_l0${suffix}`]: row(first, [4, 1]),
    [`lstm.weight_hh_l0${suffix}`]: row(first + 10, [4, 1]),
    [`lstm.bias_ih_l0${suffix}`]: row(first + 20, [4]),
    [`lstm.bias_hh_l0${suffix}`]: row(first + 30, [4]),
  });
  const path = join(directory, "directions");
  await writeFile(
    path,
    save({ "norm.weight": row(5, [2]), ...direction(0, ""), ...direction(100, "_reverse") }),
  );
  const { params } = await loadSafetensors(path, like, {
    rename: [
      [/^lstm\.(.*)_l0_reverse$/, "lstm.backward.$1"],
      [/^lstm\.(.*)_l0$/, "lstm.forward.$1"],
    ],
  });
  expect([...params.norm.scale.data]).toEqual([5, 6]);
  expect([...params.lstm.forward.bias.data]).toEqual([50, 52, 54, 56]);
  expect([...params.lstm.backward.recurrent.data]).toEqual([110, 111, 112, 113]);
});

describe("what does not fit", () => {
  const like = { params: { fc: dense(2, 3).init(key(1)) } };
  const weights = (shape: readonly number[], data = new Float32Array(6)) =>
    ({ dtype: "F32", shape, data }) as const;
  const write = async (name: string, tensors: Parameters<typeof save>[0]): Promise<string> => {
    const path = join(directory, name);
    await writeFile(path, save(tensors));
    return path;
  };

  it("is thrown with the report, and stays at its start if that is allowed", async () => {
    const path = await write("misfit", { "fc.weight": weights([2, 3]), "other.weight": weights([3, 2]) });
    const failure = await loadSafetensors(path, like).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: "MP_CHECKPOINT_MISMATCH",
      message: expect.stringMatching(
        /"fc\.bias" is not in the file; "fc\.kernel": it is \[2, 3\], the file's "fc\.weight" \[2, 3\], which is \[inputs, outputs\] already: pass inputsFirst; "other\.weight" of the file has no place/,
      ) as string,
      details: { report: { missing: ["params/fc/bias"], unexpected: ["other.weight"] } },
    });
    const loaded = await loadSafetensors(path, like, { allow: ["missing", "unexpected", "mismatched"] });
    expect(loaded.params).toEqual(like.params);
    const turned = await loadSafetensors(path, like, { allow: ["missing", "unexpected"], inputsFirst: true });
    expect([...turned.params.fc.kernel.data]).toEqual([0, 0, 0, 0, 0, 0]);
    expect(turned.params.fc.bias).toBe(like.params.fc.bias);
  });

  it("is a number that is not finite, and one that is not floating-point", async () => {
    const bias = { dtype: "F64", shape: [3], data: Float64Array.of(1, 1e300, 1) } as const;
    const kernel = { dtype: "I32", shape: [3, 2], data: new Int32Array(6) } as const;
    const path = await write("values", { "fc.bias": bias, "fc.weight": kernel });
    await expect(loadSafetensors(path, like)).rejects.toThrow(
      /"fc\.bias": element 1 is Infinity in f32; "fc\.kernel": is I32 in the file, weights are F32, F64, F16, BF16/,
    );
  });

  it("is two tensors of one path; null and undefined leave one out", async () => {
    const path = await write("two", { "fc.weight": weights([3, 2]), "head.weight": weights([3, 2]) });
    await expect(loadSafetensors(path, like, { rename: [[/head/, "fc"]] })).rejects.toMatchObject({
      code: "MP_INVALID_ARGUMENT",
    });
    for (const rename of [
      [[/^head/, null]] as const,
      (name: string) => (/^head/.test(name) ? undefined : name),
    ])
      expect((await loadSafetensors(path, like, { rename, allow: ["missing"] })).report.ignored).toEqual([
        "head.weight",
      ]);
  });

  it("is an answer of another kind: a promise is no name, and not true", async () => {
    const path = await write("answers", { "fc.weight": weights([3, 2]) });
    for (const options of [
      { rename: async (name: string) => name },
      { rename: () => 5 },
      { inputsFirst: async () => false },
      { inputsFirst: () => undefined },
    ])
      await expect(
        loadSafetensors(path, like, { allow: ["missing"], ...(options as object) }),
      ).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT" });
  });

  it("is one of two biases of another shape, which would be left out of the sum", async () => {
    const ones = (...shape: readonly number[]) =>
      weights(shape, new Float32Array(shape.reduce((a, b) => a * b)));
    for (const [layer, gates] of [
      [lstm(2, 2), 8],
      [gru(2, 2), 6],
    ] as const) {
      const path = await write("recurrent", {
        weight_ih: ones(gates, 2),
        weight_hh: ones(gates, 2),
        bias_ih: ones(3),
        bias_hh: ones(gates),
      });
      await expect(loadSafetensors(path, { params: layer.init(key(1)) })).rejects.toThrow(
        new RegExp(`"bias": the file's "bias_ih" \\[3\\] and "bias_hh" \\[${gates}\\] have different shapes`),
      );
    }
  });

  it.each([
    ["../secret", /is not the name of a file/],
    ["/etc/passwd", /is not the name of a file/],
    ["a\\b", /is not the name of a file/],
    ["link", /is a link out of the folder/],
  ])("is a shard %s", async (shard, message) => {
    const place = join(directory, "sharded");
    await mkdir(place, { recursive: true });
    await cp(join(folder, "bert.safetensors"), join(directory, "secret"));
    await symlink("../secret", join(place, "link")).catch(() => undefined);
    const index = join(place, "model.safetensors.index.json");
    await writeFile(index, JSON.stringify({ weight_map: { "fc.weight": shard } }));
    const failure = await loadSafetensors(index, like).catch((error: unknown) => error);
    expect(MpError.is(failure, "MP_PARSE")).toBe(true);
    expect(String(failure)).toMatch(message);
  });

  it("is a shard of another repository, in a cache of the hub", async () => {
    const [own, other] = ["models--own", "models--other"].map((name) => join(directory, name)) as [
      string,
      string,
    ];
    const snapshot = join(own, "snapshots", "0".repeat(40), "sub");
    await mkdir(snapshot, { recursive: true });
    for (const repository of [own, other]) {
      await mkdir(join(repository, "blobs"), { recursive: true });
      await cp(join(folder, "bert.safetensors"), join(repository, "blobs", "abc"));
    }
    const index = join(snapshot, "model.safetensors.index.json");
    await writeFile(index, JSON.stringify({ weight_map: { "embeddings.LayerNorm.bias": "shard" } }));
    const load = () => loadSafetensors(index, like, { allow: ["missing", "unexpected"] });
    await symlink("../../../blobs/abc", join(snapshot, "shard"));
    expect((await load()).report.unexpected).toEqual(["embeddings.LayerNorm.bias"]);
    await rm(join(snapshot, "shard"));
    await symlink("../../../../models--other/blobs/abc", join(snapshot, "shard"));
    await expect(load()).rejects.toThrow(/is a link out of the folder/);
  });

  it("is an index that is none", async () => {
    const index = join(directory, "index.json");
    for (const text of ["{", "[]", '{"weight_map":{"a":1}}']) {
      await writeFile(index, text);
      await expect(loadSafetensors(index, like)).rejects.toMatchObject({ code: "MP_PARSE" });
    }
    await expect(loadSafetensors(join(directory, "none.json"), like)).rejects.toMatchObject({
      code: "MP_IO",
    });
    await expect(loadSafetensors(join(directory, "none"), like)).rejects.toMatchObject({ code: "MP_IO" });
    await expect(loadSafetensors(index, like, { allow: ["all" as never] })).rejects.toMatchObject({
      code: "MP_INVALID_ARGUMENT",
    });
  });
});
