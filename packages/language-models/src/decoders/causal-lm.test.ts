// What holds for any configuration of a family: generated ones, in double precision.

import { type HostTensor, isHostTensor, key, leavesOf, tensor } from "@mp/core";
import { type FieldTable, readFields } from "@mp/nn/internal";
import { describe, expect, it } from "vitest";
import { numbers, run } from "../../../nn/test/run-layer.js";
import { type CausalLm, type CausalLmConfig, causalLm, nextTokenLoss } from "../index.js";
import { FAMILIES } from "./families.js";

/** Random numbers from 0 to 1 by a linear congruential generator. */
function draws(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const VOCABULARY = 17;

/** Turns off GPT-2's dropouts, which are on by default. */
const DROPS = { resid_pdrop: 0, embd_pdrop: 0, attn_pdrop: 0 };

const FAMILY_NAMES = Object.keys(FAMILIES);

function configOf(seed: number, family: string): CausalLmConfig {
  const draw = draws(seed);
  const one = <T>(values: readonly T[]): T => values[Math.floor(draw() * values.length)] as T;
  const heads = one([1, 2, 4, 6]);
  const rotations = [
    { rope_type: "default", rope_theta: 100 },
    { type: "linear", factor: 3 },
    { rope_type: "llama3", factor: 8, low_freq_factor: 1, high_freq_factor: 4 },
  ];
  const shared = {
    model_type: family,
    vocab_size: VOCABULARY,
    initializer_range: 0.5,
    tie_word_embeddings: draw() < 0.5,
  };
  if (family === "gpt2")
    return {
      ...shared,
      n_embd: heads * one([2, 3]),
      n_inner: one([null, 5]),
      n_layer: one([1, 2]),
      n_head: heads,
      n_positions: 16,
      activation_function: one(["gelu_new", "gelu", "relu"]),
      scale_attn_weights: draw() < 0.5,
      scale_attn_by_inverse_layer_idx: draw() < 0.5,
      ...DROPS,
    };
  return {
    ...shared,
    hidden_size: heads * one([2, 4]),
    intermediate_size: one([3, 8]),
    num_hidden_layers: one([1, 2]),
    num_attention_heads: heads,
    num_key_value_heads: one([1, 2, 3].filter((count) => heads % count === 0)),
    head_dim: one([null, 6]),
    hidden_act: one(["silu", "gelu", "relu"]),
    max_position_embeddings: 16,
    ...(family === "llama" || family === "qwen3" ? { attention_bias: draw() < 0.5 } : {}),
    ...(family === "llama" ? { mlp_bias: draw() < 0.5 } : {}),
    ...(family === "mistral" ? { sliding_window: one([null, 2, 4]) } : {}),
    rope_scaling: one(rotations),
  };
}

const ids = (rows: readonly (readonly number[])[]): HostTensor<"i32"> =>
  tensor(Int32Array.from(rows.flat()), [rows.length, rows[0]?.length ?? 0]);

function logits(
  model: CausalLm,
  data: { readonly ids: HostTensor; readonly [name: string]: HostTensor },
): number[] {
  const start = { params: model.init(key(5)), data };
  return [...numbers(run(start, (given) => model.apply(given.params, given.data as never)))];
}

function expectClose(got: readonly number[], want: readonly number[]): void {
  expect(got.length).toBe(want.length);
  for (const [at, value] of want.entries()) expect(Math.abs((got[at] as number) - value)).toBeLessThan(1e-6);
}

const generated = FAMILY_NAMES.flatMap((family) =>
  Array.from({ length: 6 }, (_, seed) => [family, seed, configOf(seed, family)] as const),
);

describe.each(generated)("%s, configuration %i", (family, _seed, config) => {
  const model = causalLm(config);
  const [first, second] = [
    [3, 1, 4, 1, 5],
    [9, 2, 6],
  ] as const;

  it("gives packed samples, with their mask and positions, what it gives them alone", () => {
    const packed = [...first, ...second];
    const sample = packed.map((_, at) => (at < first.length ? 0 : 1));
    const mask = Uint8Array.from(sample.flatMap((own) => sample.map((other) => (own === other ? 1 : 0))));
    const positions = packed.map((_, at) => (at < first.length ? at : at - first.length));
    const size = packed.length;
    const together = logits(model, {
      ids: ids([packed]),
      mask: tensor(mask, [1, 1, size, size], "bool"),
      positions: ids([positions]),
    });
    expectClose(together, [
      ...logits(model, { ids: ids([first]) }),
      ...logits(model, { ids: ids([second]) }),
    ]);
  });

  it("lets no token see a later one, and each position matter", () => {
    const longer = logits(model, { ids: ids([[...first, 7, 8]]) });
    expectClose(longer.slice(0, first.length * VOCABULARY), logits(model, { ids: ids([first]) }));
    const spread = logits(model, { ids: ids([first]), positions: ids([[0, 2, 4, 6, 8]]) });
    expect(spread.slice(-VOCABULARY)).not.toEqual(longer.slice(-3 * VOCABULARY, -2 * VOCABULARY));
  });

  it("gives the same with blocks that are computed again, and names its linear layers", () => {
    const again = causalLm(config, { remat: "blocks" });
    expect(logits(again, { ids: ids([first]) })).toEqual(logits(model, { ids: ids([first]) }));
    const layers = (config["num_hidden_layers"] ?? config["n_layer"]) as number;
    const inBlock = family === "gpt2" ? 4 : 7;
    expect(model.linearLayers.length).toBe(
      inBlock * layers + (config["tie_word_embeddings"] === true ? 0 : 1),
    );
  });
});

describe.each(FAMILY_NAMES)("a configuration of %s", (family) => {
  const { fields, architectures } = FAMILIES[family] as (typeof FAMILIES)[string];
  const CONFIG: CausalLmConfig = { ...configOf(1, family), architectures: [architectures[0]] };
  const rules = Object.entries(fields);
  const refused = rules.flatMap(([name, rule]) =>
    typeof rule === "object" && "only" in rule ? [[name, rule.only]] : [],
  );
  const unused = rules.flatMap(([name, rule]: [string, FieldTable[string]]) =>
    rule === "unused" ? [name] : [],
  );

  it.each(unused)("may have %s, which changes nothing", (name) => {
    for (const value of [7, "text", { any: true }])
      expect(causalLm({ ...CONFIG, [name]: value }).linearLayers).toEqual(causalLm(CONFIG).linearLayers);
  });

  it.each(refused as [string, readonly unknown[]][])(
    "may have %s only where it means nothing",
    (name, only) => {
      for (const value of [...only, null]) causalLm({ ...CONFIG, [name]: value });
      expect(() => causalLm({ ...CONFIG, [name]: { any: 1 } })).toThrow(
        expect.objectContaining({ code: "MP_UNSUPPORTED", details: { field: name } }),
      );
    },
  );

  it("refuses fields that nobody knows, unless the caller does", () => {
    const odd = { ...CONFIG, logit_scale: 0.5 };
    expect(() => causalLm(odd)).toThrow(
      /field logit_scale, which is 0.5, is not known .* ignore: \["logit_scale"\]/,
    );
    causalLm(odd, { ignore: ["logit_scale"] });
    causalLm({ ...CONFIG, logit_scale: null });
    expect(() => readFields("x", { a: 1 }, {}, [])).toThrow("x: the field a");
  });
});

/** Fields that determine how much memory a model takes. */
const EXTENTS = [
  ...[
    "vocab_size",
    "n_positions",
    "n_embd",
    "n_layer",
    "n_head",
    "n_inner",
    "hidden_size",
    "intermediate_size",
  ],
  ...["num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim"],
];
const absurd = FAMILY_NAMES.flatMap((family) =>
  EXTENTS.filter((field) => field in (FAMILIES[family]?.fields ?? {})).map(
    (field) => [family, field] as const,
  ),
);

it.each(absurd)("a configuration of %s with an absurd %s is refused by name, at once", (family, field) => {
  const before = process.cpuUsage();
  for (const value of [2 ** 30, 2 ** 31, 2 ** 40, 1e300, 0, -1, 1.5, "8", true, [8], { any: 1 }]) {
    expect(() => causalLm({ ...configOf(1, family), [field]: value })).toThrow(
      expect.objectContaining({
        code: "MP_INVALID_ARGUMENT",
        message: expect.stringMatching(new RegExp(`\\b${field} must be an integer from 1 to`)),
      }),
    );
  }
  // What one field may be alone, others may have no room for.
  for (const value of [2 ** 22, 2 ** 12, 5, 3]) {
    try {
      causalLm({ ...configOf(1, family), [field]: value });
    } catch (error) {
      expect(error).toMatchObject({
        message: expect.stringMatching(/causalLm: .*(too large|must be|must divide)/),
      });
    }
  }
  // Processor time of this process: some 0.3 s, where a loop over 2^30 layers would take minutes.
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(6);
});

describe("a sliding window", () => {
  const text = [3, 1, 4, 1, 5, 9, 2];
  /** The places whose logits change with the first token. */
  function reachOfFirst(layers: number, window: number | null): readonly number[] {
    const config = { ...configOf(1, "mistral"), num_hidden_layers: layers, sliding_window: window };
    const [one, other] = [text, [8, ...text.slice(1)]].map((row) =>
      logits(causalLm(config), { ids: ids([row]) }),
    );
    const isOther = (_: number, place: number): boolean =>
      one?.slice(place * VOCABULARY, (place + 1) * VOCABULARY).join() !==
      other?.slice(place * VOCABULARY, (place + 1) * VOCABULARY).join();
    return text.map((_, place) => place).filter(isOther);
  }

  it.each([
    [1, 1, [0]],
    [1, 3, [0, 1, 2]],
    [2, 3, [0, 1, 2, 3, 4]],
    [1, null, [0, 1, 2, 3, 4, 5, 6]],
  ] as const)("over %i layers, %s tokens wide, ends the reach of a token", (layers, window, places) => {
    expect(reachOfFirst(layers, window)).toEqual(places);
  });

  it("has 4096 tokens where a Mistral does not say, and no end where it says null", () => {
    const { fields } = FAMILIES["mistral"] as (typeof FAMILIES)[string];
    expect(readFields("x", {}, fields, [])).toMatchObject({ sliding_window: 4096 });
    expect(readFields("x", { sliding_window: null }, fields, [])).toMatchObject({ sliding_window: null });
    expect(() => causalLm({ ...configOf(1, "mistral"), sliding_window: 0 })).toThrow(
      /sliding_window must be an integer from 1/,
    );
  });
});

describe("a configuration", () => {
  const CONFIG: CausalLmConfig = { ...configOf(1, "llama"), architectures: ["LlamaForCausalLM"] };

  it.each([
    [
      { model_type: "gemma4" },
      "MP_UNSUPPORTED",
      /model_type must be one of gpt2, llama, mistral, qwen2, qwen3, got "gemma4"/,
    ],
    [
      { architectures: ["LlamaForSequenceClassification"] },
      "MP_UNSUPPORTED",
      /LlamaForCausalLM, LlamaModel, got/,
    ],
    [
      { rope_scaling: { rope_type: "yarn", factor: 2 } },
      "MP_UNSUPPORTED",
      /default, linear, llama3, got "yarn"/,
    ],
    [{ rope_scaling: { rope_type: "linear" } }, "MP_INVALID_ARGUMENT", /factor is missing/],
    [{ rope_scaling: { rope_type: "linear", factor: 2, beta_fast: 1 } }, "MP_UNSUPPORTED", /beta_fast/],
    [{ hidden_act: "quick_gelu" }, "MP_INVALID_ARGUMENT", /hidden_act must be/],
    [
      { hidden_size: 7, num_attention_heads: 2, head_dim: null },
      "MP_INVALID_ARGUMENT",
      /an even integer, got 3.5/,
    ],
    [{ num_attention_heads: 4, num_key_value_heads: 3, head_dim: 2 }, "MP_INVALID_ARGUMENT", /3 and 4/],
    [{ vocab_size: "many" }, "MP_INVALID_ARGUMENT", /vocab_size must be/],
    [
      { model_type: "qwen3", architectures: null, mlp_bias: null, layer_types: ["full_attention", "x"] },
      "MP_UNSUPPORTED",
      /layer_types must be "full_attention" or null, got .*"x"/,
    ],
  ])("is refused by name: %j", (change, code, message) => {
    expect(() => causalLm({ ...CONFIG, ...change })).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    );
  });

  it("of GPT-2 is refused where heads do not divide it, and takes no row longer than its positions", () => {
    const small = { ...configOf(2, "gpt2"), n_head: 2, n_embd: 4, n_positions: 3 };
    expect(() => causalLm({ ...small, n_embd: 5 })).toThrow(/n_head must divide n_embd, got 2 and 5/);
    const model = causalLm(small);
    logits(model, { ids: ids([[1, 2, 3]]) });
    expect(() => logits(model, { ids: ids([[1, 2, 3, 4]]) })).toThrow(/at most 3 tokens in a row/);
  });

  it.each(Object.keys(DROPS))("of GPT-2 drops by %s, in training alone", (name) => {
    const trained = (rate: number, training: boolean): number[] => {
      const model = causalLm({ ...configOf(3, "gpt2"), [name]: rate });
      // The last two are a sample of their own.
      const mask = Uint8Array.from({ length: 25 }, (_, at) => Number(at % 5 < 3 === at < 15));
      const start = {
        params: model.init(key(5)),
        ids: ids([[3, 1, 4, 1, 5]]),
        mask: tensor(mask, [1, 1, 5, 5], "bool"),
      };
      return [
        ...numbers(run(start, ({ params, ...data }) => model.apply(params, data, { training, key: key(7) }))),
      ];
    };
    expect(trained(0.5, false)).toEqual(trained(0, true));
    const changed = trained(0.5, true);
    expect(changed).not.toEqual(trained(0, true));
    expect(changed.every(Number.isFinite)).toBe(true);
    // Few are dropped, and the rest is scaled by nearly 1.
    expectClose(trained(1e-9, true), trained(0, true));
  });

  it("refuses inputs that are no tokens", () => {
    const model = causalLm(CONFIG);
    const given =
      (data: object): (() => unknown) =>
      () =>
        run({ params: model.init(key(0)), ...data }, (all) => model.apply(all.params, all as never));
    expect(given({ ids: tensor(Int32Array.of(1)) })).toThrow(
      /ids must be i32 \[batch, time\], got i32 \[1\]/,
    );
    expect(given({ ids: ids([[1, 2]]), positions: ids([[1]]) })).toThrow(/positions must have the shape/);
    expect(given({})).toThrow(/causalLm: ids/);
  });
});

describe("nextTokenLoss", () => {
  it("compares each place with the label after it, and leaves -100 out", () => {
    const scores = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((each) => Math.sin(each));
    const data = { logits: tensor(Float32Array.from(scores), [1, 3, 3]), labels: ids([[2, 1, 0]]) };
    const surprise = (row: number, label: number): number => {
      const own = scores.slice(3 * row, 3 * row + 3);
      return Math.log(own.reduce((sum, each) => sum + Math.exp(each), 0)) - (own[label] as number);
    };
    const loss = (labels: HostTensor<"i32">): number =>
      numbers(run({ ...data, labels }, (all) => nextTokenLoss(all.logits, all.labels)))[0] as number;
    expect(loss(data.labels)).toBeCloseTo((surprise(0, 1) + surprise(1, 0)) / 2, 6);
    expect(loss(ids([[2, -100, 0]]))).toBeCloseTo(surprise(1, 0), 6);
    expect(() => loss(ids([[1]]))).toThrow(/time of 2 or more, got \[1, 1\]/);
  });
});

describe("the axis of a matrix's outputs", () => {
  it.each(FAMILY_NAMES)("is that of its linear layers, and of tables, in %s", (family) => {
    for (let seed = 0; seed < 10; seed++) {
      const model = causalLm(configOf(seed, family));
      const linear = new Map(model.linearLayers.map((layer) => [`${layer.path}/weight`, layer]));
      const matrices = leavesOf(model.init(key(1)), isHostTensor, "params").filter(
        ([, { shape }]) => shape.length === 2,
      );
      for (const [path, { shape }] of matrices) {
        const axis = model.outputAxis(path, { shape });
        const { outputs, inputs } = linear.get(path) ?? { outputs: shape[1], inputs: shape[0] };
        expect([shape[axis ?? 2], shape[1 - (axis ?? 2)]], path).toEqual([outputs, inputs]);
      }
      expect(model.outputAxis("elsewhere/weight", { shape: [2, 3] })).toBeUndefined();
    }
    const { outputAxis } = causalLm(configOf(1, family));
    const head =
      family === "gpt2" ? "transformer/h/0/attn/c_attn/weight" : "model/layers/0/mlp/up_proj/weight";
    expect(outputAxis(head, { shape: [1, 1] })).toBe(family === "gpt2" ? 1 : 0);
  });
});
