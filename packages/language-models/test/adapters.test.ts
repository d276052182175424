// LoRA beside a frozen model, and its files.
import { cp, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  float32,
  type HostTensor,
  isHostTensor,
  key,
  mapTree,
  sgd,
  type Tensor,
  tensor,
  trainer,
} from "@mp/core";
import { decodeArray, encodeArray } from "@mp/core/graph";
import { reference } from "@mp/core/reference";
import {
  type Lora,
  type LoraOptions,
  loadAdapter,
  lora,
  type NamedParameters,
  saveAdapter,
} from "@mp/nn/adapters";
import { loadFile, saveFile } from "@mp/safetensors/file";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { ADAPTER_FIELDS } from "../../nn/src/adapters/adapter-fields-table.js";
import { numbers, run } from "../../nn/test/run-layer.js";
import {
  type CausalLm,
  causalLm,
  generator,
  loadCausalLm,
  nextTokenLoss,
  saveCausalLm,
} from "../src/index.js";

const fixtures = fileURLToPath(new URL("./fixtures/transformers", import.meta.url));

const config = {
  model_type: "llama",
  vocab_size: 13,
  hidden_size: 8,
  intermediate_size: 6,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  initializer_range: 0.5,
};
const model = causalLm(config);
const base = model.init(key(1));
const ids = tensor(Int32Array.of(3, 1, 4, 1, 5), [1, 5]);

/** Adapters that change something. */
const moved = (adapters: NamedParameters): NamedParameters =>
  mapTree<unknown, HostTensor, HostTensor>(adapters, isHostTensor, ({ shape, data }, path) =>
    tensor(
      Float32Array.from(data as Float32Array, (value, at) => value + 0.3 * Math.sin(at + path.length)),
      shape,
    ),
  ) as NamedParameters;

type Input = Parameters<CausalLm["apply"]>[1];

function logits(adapted: Lora<Input>, adapters: NamedParameters, training = false): readonly number[] {
  return numbers(
    run({ base, adapters, ids }, (all) =>
      adapted.apply(all.adapters, all.base, { ids: all.ids as Tensor }, { training, key: key(2) }),
    ),
  );
}

const plain = (weights: NamedParameters = base): readonly number[] =>
  numbers(run({ weights, ids }, (all) => model.apply(all.weights, { ids: all.ids as Tensor })));

function expectClose(got: readonly number[], want: readonly number[], digits = 5): void {
  expect(got.length).toBe(want.length);
  for (const [at, value] of want.entries()) expect(got[at]).toBeCloseTo(value, digits);
}

const pathsOf = (adapted: Lora<Input>): readonly string[] => adapted.places.map(({ path }) => path);

describe("lora", () => {
  it("starts as the base, and merges into what it computes", () => {
    for (const options of [
      {},
      { targets: "all-linear", rank: 3, alpha: 5 },
      { targets: ["lm_head"], useRslora: true },
    ] as const) {
      const adapted = lora(model, options);
      const start = adapted.init(key(4));
      expect(logits(adapted, start)).toEqual(plain());
      const adapters = moved(start);
      const changed = logits(adapted, adapters);
      expect(changed).not.toEqual(plain());
      expectClose(plain(adapted.merge(adapters, base)), changed);
    }
  });

  it.each(["bf16", "int8", "nf4"] as const)("merges a base in %s into what it computes", async (stored) => {
    const { model: own, params } = await loadCausalLm(join(fixtures, "llama-grouped"), { base: stored });
    const adapted = lora(own, { targets: "all-linear" });
    const adapters = moved(adapted.init(key(4)));
    const merged = adapted.merge(adapters, params);
    const changed = run({ params, adapters, ids }, (all) =>
      adapted.apply(all.adapters, all.params, { ids: all.ids as Tensor }),
    );
    const plain = run({ merged, ids }, (all) => own.apply(all.merged, { ids: all.ids as Tensor }));
    expectClose(numbers(plain), numbers(changed), 4);
  });

  it("merges adapters in bf16 by their values", () => {
    const adapted = lora(model);
    const narrow = mapTree<unknown, HostTensor, HostTensor>(
      moved(adapted.init(key(4))),
      isHostTensor,
      ({ shape, data }) => tensor(encodeArray("bf16", data as Float32Array), shape, "bf16"),
    );
    const wide = mapTree<unknown, HostTensor, HostTensor>(narrow, isHostTensor, ({ shape, data }) =>
      tensor(decodeArray("bf16", data as Uint16Array), shape),
    );
    expect(adapted.merge(narrow as NamedParameters, base)).toEqual(
      adapted.merge(wide as NamedParameters, base),
    );
  });

  it("scales by alpha / rank, or by alpha / √rank", () => {
    const adapters = moved(lora(model, { rank: 4, alpha: 4 }).init(key(4)));
    const scaled = (alpha: number, useRslora: boolean): readonly number[] =>
      logits(lora(model, { rank: 4, alpha, useRslora }), adapters);
    expect(scaled(4, true)).toEqual(scaled(8, false));
    expect(scaled(4, true)).not.toEqual(scaled(4, false));
  });

  it("drops what adapters read in training alone", () => {
    const adapted = lora(model, { dropout: 0.5 });
    const adapters = moved(adapted.init(key(4)));
    expect(logits(adapted, adapters)).toEqual(logits(lora(model), adapters));
    expect(logits(adapted, adapters, true)).not.toEqual(logits(adapted, adapters));
  });

  it("takes names, parts of paths and all-linear, and refuses what matches nothing", () => {
    expect(pathsOf(lora(model))).toEqual(
      [0, 1].flatMap((at) => ["q_proj", "v_proj"].map((name) => `model/layers/${at}/self_attn/${name}`)),
    );
    expect(pathsOf(lora(model, { targets: ["layers.1.mlp.up_proj"] }))).toEqual([
      "model/layers/1/mlp/up_proj",
    ]);
    expect(pathsOf(lora(model, { targets: "all-linear" })).length).toBe(14);
    const candidates = /lm_head, down_proj, gate_proj, up_proj, k_proj, o_proj, q_proj, v_proj/;
    for (const targets of [["q_proj", "c_attn"], ["proj"], []])
      expect(() => lora(model, { targets })).toThrow(
        expect.objectContaining({ code: "MP_INVALID_ARGUMENT", message: expect.stringMatching(candidates) }),
      );
    expect(() => lora({} as never)).toThrow(/takes a model/);
  });

  it("warns where a run goes on with another scale or dropout", async () => {
    const resumed = async (options: LoraOptions) => {
      const adapted = lora(model, options);
      const messages: string[] = [];
      const training = await trainer({
        backend: await reference(),
        precision: float32(),
        params: { base, adapters: adapted.init(key(4)) },
        frozen: { base: true },
        loss: (all, batch: { readonly ids: Tensor }, context) =>
          nextTokenLoss(adapted.apply(all.adapters, all.base, batch, context), batch.ids),
        optimizer: sgd({ learningRate: 0.1 }),
        onWarning: ({ type, message }) => void (type === "checkpoint" && messages.push(message)),
      });
      return { training, messages };
    };
    const { training } = await resumed({ alpha: 16, dropout: 0.1 });
    const bytes = await training.saveBytes();
    for (const [options, now] of [
      [{ alpha: 32, dropout: 0.1 }, "lora(alpha 32 / 8, dropout 0.1)"],
      [{ alpha: 16 }, "lora(alpha 16 / 8, dropout 0)"],
      [{ alpha: 16, dropout: 0.1, useRslora: true }, "lora(alpha 16 / √8, dropout 0.1)"],
      [{ alpha: 16, dropout: 0.1 }, undefined],
    ] as const) {
      const other = await resumed(options);
      await other.training.loadBytes(bytes);
      const difference = `params/adapters ${now} instead of lora(alpha 16 / 8, dropout 0.1)`;
      expect(other.messages).toEqual(
        now === undefined ? [] : [`loadBytes: goes on under other settings, ${difference}`],
      );
    }
  });

  it("refuses trees in the wrong order", () => {
    const adapted = lora(model);
    const given = { base, adapters: adapted.init(key(4)), ids };
    expect(() =>
      run(given, (all) => adapted.apply(all.base, all.adapters, { ids: all.ids as Tensor })),
    ).toThrow(
      /adapters must have \[8, 8\] at model\/layers\/0\/self_attn\/q_proj\/lora_A\/weight, got nothing; .*adapters come first/,
    );
  });

  const OTHERS: Readonly<Record<string, readonly [own: object, settings: LoraOptions, at: RegExp]>> = {
    "another rank": [{}, { rank: 3 }, /have \[8, 8\] at .*q_proj\/lora_A\/weight, got \[3, 8\]/],
    "more layers": [{}, { targets: "all-linear" }, /have nothing at .*mlp\/down_proj\/lora_A/],
    "fewer layers": [{}, { targets: ["q_proj"] }, /have \[8, 8\] at .*v_proj\/lora_A\/weight, got nothing/],
    "other layers": [{}, { targets: ["lm_head"] }, /q_proj\/lora_A\/weight, got nothing/],
    "a deeper model": [{ num_hidden_layers: 3 }, {}, /have nothing at model\/layers\/2\/.*lora_A/],
    "a wider model": [{ hidden_size: 12 }, {}, /have \[8, 8\] at .*lora_A\/weight, got \[8, 12\]/],
  };
  const USES: Readonly<
    Record<string, (base: NamedParameters, adapters: NamedParameters, own: Lora<Input>) => unknown>
  > = {
    join: (base, adapters, own) =>
      run({ base, adapters }, (all) => own.join(all.adapters, all.base) as never),
    apply: (base, adapters, own) =>
      run({ base, adapters, ids }, (all) => own.apply(all.adapters, all.base, { ids: all.ids as Tensor })),
    merge: (base, adapters, own) => own.merge(adapters, base),
    saveAdapter: (_, adapters, own) => saveAdapter(join(tmpdir(), "mp-refused"), own, adapters),
    generator: async (base, adapters, own) =>
      generator({
        backend: await reference(),
        model,
        params: base as never,
        adapter: { adapted: own, adapters },
      }),
  };
  const uses = Object.entries(USES).flatMap(([use, call]) =>
    Object.entries(OTHERS).map(([name, other]) => [use, name, call, other] as const),
  );
  it.each(uses)("%s refuses adapters of %s, with the path and both shapes", async (use, _, call, other) => {
    const [own, settings, at] = other;
    const adapters = lora(causalLm({ ...config, ...own }), settings).init(key(4));
    const refused = expect.objectContaining({
      code: expect.stringMatching(/MP_(INVALID_ARGUMENT|SHAPE_MISMATCH)/),
      message: expect.stringMatching(at),
    });
    await expect((async () => call(base, adapters, lora(model)))()).rejects.toEqual(refused);
    if (use === "saveAdapter" || !("hidden_size" in own)) return;
    // Adapters that fit their own model, above a base of another.
    const wide = lora(causalLm({ ...config, ...own }));
    await expect((async () => call(base, wide.init(key(4)), wide))()).rejects.toThrow(
      /base must have \[12, 12\] at .*q_proj\/weight, got \[8, 8\]; take/,
    );
  });

  it.each(["int8", "nf4"] as const)("refuses a base in %s of another model", async (stored) => {
    const { params } = await loadCausalLm(join(fixtures, "llama-grouped"), { base: stored });
    const adapted = lora(model);
    expect(() => adapted.merge(adapted.init(key(4)), params)).toThrow(
      /base must have \[8, 8\] at .*, got \[/,
    );
  });

  it("draws A as peft does", () => {
    const { model: tree } = lora(model, { rank: 64 }).init(key(9)) as never as {
      model: { layers: { 0: { self_attn: { q_proj: { lora_A: { weight: HostTensor<"f32"> } } } } } };
    };
    const { data } = tree.layers[0].self_attn.q_proj.lora_A.weight;
    const most = Math.max(...data.map(Math.abs));
    expect(most).toBeLessThanOrEqual(1 / Math.sqrt(8));
    expect(most).toBeGreaterThan(0.95 / Math.sqrt(8));
  });
});

describe("an adapter's files", () => {
  const made: string[] = [];
  let folder = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "mp-adapters-"));
    made.push(folder);
  });
  afterAll(() => Promise.all(made.map((each) => rm(each, { recursive: true }))));

  const changed = async (change: object): Promise<void> => {
    const path = join(folder, "adapter_config.json");
    await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, "utf8")), ...change }));
  };
  const grouped = async (): Promise<CausalLm> => {
    await cp(join(fixtures, "llama-grouped/trained"), folder, { recursive: true });
    return (await loadCausalLm(join(fixtures, "llama-grouped"))).model;
  };

  it("come back as they were", async () => {
    for (const options of [
      {},
      { targets: "all-linear", useRslora: true, dropout: 0.1, rank: 2, alpha: 3.5 },
    ] as const) {
      const adapted = lora(model, options);
      const adapters = moved(adapted.init(key(4)));
      await saveAdapter(folder, adapted, adapters, { base: "someone/model" });
      const loaded = await loadAdapter(folder, model);
      expect(loaded.adapters).toEqual(adapters);
      expect(pathsOf(loaded.adapted)).toEqual(pathsOf(adapted));
      const { targets: _, ...settings } = adapted.settings;
      expect(loaded.adapted.settings).toMatchObject(settings);
    }
  });

  it.each([
    ["a file", () => join(folder, "file"), "EEXIST"],
    ["a folder in a file", () => join(folder, "file", "a", "b"), "ENOTDIR|EEXIST"],
    ["a place without folders", () => "/proc/x/y", "ENOENT|EACCES|EPERM"],
  ])("are refused by %s", async (_, placeOf, errno) => {
    await writeFile(join(folder, "file"), "");
    const adapted = lora(model);
    for (const save of [
      () => saveAdapter(placeOf(), adapted, adapted.init(key(4))),
      () => saveCausalLm(placeOf(), model, base),
    ])
      await expect(save()).rejects.toMatchObject({
        code: "MP_IO",
        message: expect.stringMatching(`cannot make the folder ${placeOf()}: (${errno}).*; pass a path`),
      });
  });

  it("have no name twice, and need a model", async () => {
    const adapted = lora(model);
    await saveAdapter(folder, adapted, adapted.init(key(4)));
    const path = join(folder, "adapter_model.safetensors");
    const { tensors } = await loadFile(path);
    const [[name, first] = ["", undefined]] = Object.entries(tensors);
    await saveFile(path, { ...tensors, [name.replace("base_model.model.", "")]: first as never });
    await expect(loadAdapter(folder, model)).rejects.toMatchObject({
      code: "MP_INVALID_ARGUMENT",
      message: expect.stringMatching(/^loadAdapter: .* are both renamed .*; leave one of them out/),
    });
    await expect(loadAdapter(folder, undefined as never)).rejects.toThrow(/loadAdapter: takes a model/);
  });

  it("come into folders that are made", async () => {
    const deep = join(folder, "a", "b", "c");
    const adapted = lora(model);
    await Promise.all([1, 2].map((at) => saveAdapter(join(deep, `${at}`), adapted, adapted.init(key(4)))));
    expect((await loadAdapter(join(deep, "2"), model)).adapters).toEqual(adapted.init(key(4)));
  });

  it("are at peft's default targets, and say which layout those have", async () => {
    const [qkv, gpt2] = ["qwen2", "gpt2"].map((name) => join(fixtures, name)) as [string, string];
    for (const [from, targets, isInputsFirst] of [
      [qkv, ["q_proj", "v_proj"], false],
      [gpt2, ["c_attn"], true],
    ] as const) {
      const adapted = lora((await loadCausalLm(from)).model);
      expect(adapted.settings.targets).toEqual(targets);
      await saveAdapter(folder, adapted, adapted.init(key(4)));
      const text = await readFile(join(folder, "adapter_config.json"), "utf8");
      expect(JSON.parse(text)).toMatchObject({ target_modules: targets, fan_in_fan_out: isInputsFirst });
    }
  });

  it("of another model are refused, naming what differs", async () => {
    const { model: other } = await loadCausalLm(join(fixtures, "llama-tied"));
    await expect(loadAdapter(join(fixtures, "llama-grouped/trained"), other)).rejects.toMatchObject({
      code: "MP_CHECKPOINT_MISMATCH",
      message: expect.stringMatching(
        /lora_A\.weight": it is \[4, \d+\], the file's .*base_model_name_or_path/,
      ),
    });
    const fewer = causalLm({ ...(await grouped()).config, num_hidden_layers: 1 });
    await expect(loadAdapter(folder, fewer)).rejects.toMatchObject({
      code: "MP_CHECKPOINT_MISMATCH",
      message: expect.stringContaining("of the file has no place"),
    });
    await changed({ target_modules: ["q_proj"] });
    const more = causalLm({ ...fewer.config, num_hidden_layers: 3 });
    await expect(loadAdapter(folder, more)).rejects.toMatchObject({
      message: expect.stringContaining(
        "model/layers/2/self_attn/q_proj is a target, and the file has no adapter for it",
      ),
    });
  });

  it("of another rank, or without half of a layer, are refused", async () => {
    const own = await grouped();
    await changed({ r: 5 });
    await expect(loadAdapter(folder, own)).rejects.toMatchObject({ code: "MP_CHECKPOINT_MISMATCH" });
    await changed({ r: 4 });
    const path = join(folder, "adapter_model.safetensors");
    const { tensors } = await loadFile(path);
    const name = "base_model.model.model.layers.0.mlp.up_proj.lora_B.weight";
    await saveFile(path, Object.fromEntries(Object.entries(tensors).filter(([each]) => each !== name)));
    await expect(loadAdapter(folder, own)).rejects.toMatchObject({
      message: expect.stringContaining('up_proj.lora_B.weight" is not in the file'),
    });
    await truncate(path, 500);
    await expect(loadAdapter(folder, own)).rejects.toMatchObject({ code: "MP_PARSE" });
    await rm(path);
    await expect(loadAdapter(folder, own)).rejects.toMatchObject({ code: "MP_IO" });
  });

  const rules = Object.entries(ADAPTER_FIELDS);
  it.each(rules.flatMap(([name, rule]) => (rule === "unused" ? [name] : [])))(
    "may say anything of %s",
    async (name) => {
      const own = await grouped();
      await changed({ [name]: { any: 1 } });
      await loadAdapter(folder, own);
    },
  );
  it.each(rules.flatMap(([name, rule]) => (typeof rule === "object" && "only" in rule ? [name] : [])))(
    "are refused by %s where it means something",
    async (name) => {
      const own = await grouped();
      await changed({ [name]: { any: 1 } });
      await expect(loadAdapter(folder, own)).rejects.toMatchObject({
        code: "MP_UNSUPPORTED",
        details: { field: name },
      });
    },
  );

  it("are refused by fields that nobody knows, unless the caller does", async () => {
    const own = await grouped();
    await changed({ use_something_new: true });
    await expect(loadAdapter(folder, own)).rejects.toMatchObject({ code: "MP_UNSUPPORTED" });
    await loadAdapter(folder, own, { ignore: ["use_something_new"] });
    await changed({ use_something_new: null, target_modules: ".*_proj" });
    expect((await loadAdapter(folder, own)).adapted.places.length).toBe(14);
  });
});
