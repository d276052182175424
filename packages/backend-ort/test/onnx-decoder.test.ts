/** Language models exported as decoders whose past is an input, run by plain onnxruntime-node. */
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { float32, type Traced } from "@mp/core";
import {
  decodeArray,
  encodeArray,
  type HostTensor,
  isHostTensor,
  key,
  leavesOf,
  mapTree,
  rebuildTree,
  tensor,
  traceInto,
} from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import {
  type CausalLm,
  type CausalLmConfig,
  type CausalLmInput,
  type CausalLmParameters,
  causalLm,
  generate,
  loadCausalLm,
  onnxDecoder,
  saveCausalLm,
} from "@mp/language-models";
import { loadAdapter } from "@mp/nn/adapters";
import { type ExportOptions, encodeModel, exportOnnx } from "@mp/onnx";
import fc from "fast-check";
import * as engine from "onnxruntime-node";
import { expect, it } from "vitest";
import { ort } from "../src/index.js";
import { blockOf } from "./serving-page.js";

const RUNS = 8;

interface Loaded {
  readonly model: CausalLm;
  readonly params: CausalLmParameters;
}

/** Rows of a batch, all of one length. */
type Rows = readonly (readonly number[])[];

/** An exported model that keeps its past. */
class Decoder {
  readonly #session: engine.InferenceSession;
  #past: Readonly<Record<string, engine.Tensor>>;

  private constructor(session: engine.InferenceSession, past: Readonly<Record<string, engine.Tensor>>) {
    this.#session = session;
    this.#past = past;
  }

  static async open(
    { model, params }: Loaded,
    batch: number,
    options: Omit<ExportOptions, "inputs"> = {},
  ): Promise<Decoder> {
    const decoder = onnxDecoder(model);
    const file = exportOnnx(decoder, { params }, { ...decoder.signature, ...options });
    const session = await engine.InferenceSession.create(encodeModel(file));
    const { keyHeads, headSize } = model.sizes;
    const names = session.inputNames.filter((name) => name.startsWith("past_key_values."));
    const none = new engine.Tensor("float32", new Float32Array(0), [batch, keyHeads, 0, headSize]);
    return new Decoder(session, Object.fromEntries(names.map((name) => [name, none])));
  }

  get names(): readonly [inputs: readonly string[], outputs: readonly string[]] {
    return [this.#session.inputNames, this.#session.outputNames];
  }

  /** Logits of the new tokens of each row. */
  async next(ids: Rows, mask: Rows, positions: Rows): Promise<readonly (readonly Float32Array[])[]> {
    const made = await this.#session.run({
      input_ids: integers(ids),
      attention_mask: integers(mask),
      position_ids: integers(positions),
      ...this.#past,
    });
    const nameAfter = (name: string): string => name.replace("past_key_values", "present");
    this.#past = Object.fromEntries(
      Object.keys(this.#past).map((name) => [name, made[nameAfter(name)] as engine.Tensor]),
    );
    const { data, dims } = made["logits"] as engine.Tensor;
    const [, time = 0, vocabulary = 0] = dims;
    return ids.map((_, row) =>
      Array.from({ length: time }, (_, at) => {
        const start = (row * time + at) * vocabulary;
        return (data as Float32Array).slice(start, start + vocabulary);
      }),
    );
  }

  release(): Promise<void> {
    return this.#session.release();
  }
}

const integers = (rows: Rows): engine.Tensor =>
  new engine.Tensor("int64", BigInt64Array.from(rows.flat(), BigInt), [rows.length, rows[0]?.length ?? 0]);

async function greedyTokens(loaded: Loaded, prompt: readonly number[], length: number): Promise<number[]> {
  const decoder = await Decoder.open(loaded, 1);
  const text = [...prompt];
  for (let start = 0; text.length < length; ) {
    const ids = text.slice(start);
    const logits = await decoder.next([ids], [text.map(() => 1)], [ids.map((_, at) => start + at)]);
    const last = logits[0]?.at(-1) as Float32Array;
    start = text.length;
    text.push(last.indexOf(Math.max(...last)));
  }
  await decoder.release();
  return text;
}

const folderOf = (name: string): string =>
  fileURLToPath(new URL(`../../language-models/test/fixtures/transformers/${name}`, import.meta.url));
const greedyOf = async (name: string): Promise<readonly number[]> =>
  JSON.parse(await readFile(join(folderOf(name), "expected.json"), "utf8")).greedy;

it.each(["llama-grouped", "llama-tied", "qwen2", "qwen3", "mistral", "gpt2"])(
  "has transformers' greedy tokens: %s",
  async (name) => {
    const greedy = await greedyOf(name);
    const loaded = await loadCausalLm(folderOf(name));
    expect(await greedyTokens(loaded, greedy.slice(0, 4), greedy.length)).toEqual(greedy);
  },
);

it("has the generator's tokens with an adapter that is merged", async () => {
  const { model, params } = await loadCausalLm(folderOf("llama-grouped"));
  const adapter = await loadAdapter(join(folderOf("llama-grouped"), "trained"), model);
  const prompt = [5, 6, 7];
  const backend = await ort();
  const text = [...prompt];
  const options = { backend, model, params, adapter, precision: float32() };
  for await (const token of generate(options, prompt, { temperature: 0, maxTokens: 100 })) text.push(token);
  await backend.dispose();
  const merged = adapter.adapted.merge(adapter.adapters, params) as CausalLmParameters;
  expect(await greedyTokens({ model, params: merged }, prompt, text.length)).toEqual(text);
  expect(await greedyTokens({ model, params }, prompt, text.length)).not.toEqual(text);
});

interface Case {
  readonly config: CausalLmConfig;
  readonly seed: number;
  /** Length of each row without its padding. */
  readonly lengths: readonly number[];
  /** Lengths of the parts that the batch comes in, the last of them as long as is left. */
  readonly parts: readonly number[];
  readonly dtype: "f32" | "f16" | "bf16";
  readonly opset: number;
}

const ROTATIONS = [
  { rope_type: "default" },
  { rope_type: "linear", factor: 3 },
  {
    rope_type: "llama3",
    factor: 8,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 16,
  },
];

const configs = fc
  .record({
    model_type: fc.constantFrom("llama", "mistral", "qwen2", "qwen3", "gpt2"),
    num_key_value_heads: fc.integer({ min: 1, max: 2 }),
    group: fc.integer({ min: 1, max: 3 }),
    head_dim: fc.constantFrom(2, 4, 6),
    num_hidden_layers: fc.integer({ min: 1, max: 2 }),
    tie_word_embeddings: fc.boolean(),
    attention_bias: fc.boolean(),
    sliding_window: fc.constantFrom(null, 1, 3),
    rope_parameters: fc.constantFrom(...ROTATIONS),
  })
  .map(({ group, attention_bias, sliding_window, ...sizes }): CausalLmConfig => {
    const { model_type, num_key_value_heads: keyHeads, head_dim: headSize, tie_word_embeddings } = sizes;
    const both = { model_type, tie_word_embeddings, vocab_size: 13, initializer_range: 0.4 };
    const heads = keyHeads * group;
    if (model_type === "gpt2") {
      const { num_hidden_layers: layers } = sizes;
      return { ...both, n_positions: 64, n_embd: heads * headSize, n_layer: layers, n_head: heads };
    }
    return {
      ...both,
      ...sizes,
      hidden_size: 8,
      intermediate_size: 6,
      num_attention_heads: heads,
      ...(model_type === "llama" || model_type === "qwen3" ? { attention_bias } : {}),
      ...(model_type === "mistral" ? { sliding_window } : {}),
    };
  });

const cases: fc.Arbitrary<Case> = fc.record({
  config: configs,
  seed: fc.nat(1000),
  lengths: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 3 }),
  parts: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 4 }),
  dtype: fc.constantFrom("f32", "f16", "bf16"),
  opset: fc.integer({ min: 18, max: 23 }),
});

/** Norms and biases that are not their start. */
const shaken = (params: CausalLmParameters, seed: number): CausalLmParameters =>
  mapTree(params, isHostTensor, (leaf, path) => {
    const { data, shape } = leaf as HostTensor<"f32">;
    const offset = seed + path.length;
    return tensor(
      data.map((value, at) => value + 0.1 * Math.sin(offset + 2.3 * at)),
      shape,
    );
  }) as CausalLmParameters;

/** As storage in that dtype rounds them. */
const rounded = (params: CausalLmParameters, dtype: Case["dtype"]): CausalLmParameters =>
  mapTree(params, isHostTensor, (leaf) => {
    const { data, shape } = leaf as HostTensor<"f32">;
    return tensor(decodeArray(dtype, encodeArray(dtype, data)), shape);
  }) as CausalLmParameters;

/** Logits of the whole text at once, whose first token is at that position. */
function wholeLogits({ model, params }: Loaded, text: readonly number[], first = 0): Float32Array {
  const shape = [1, text.length];
  const ids = tensor(Int32Array.from(text), shape);
  const positions = tensor(
    Int32Array.from(text, (_, at) => first + at),
    shape,
  );
  const leaves = leavesOf<HostTensor>({ input: { ids, positions }, params }, isHostTensor, "in");
  const inputs = leaves.map(([name, type]) => ({ name, role: "batch" as const, type }));
  const { graph } = traceInto(inputs, (tensors) => {
    const given = rebuildTree({ input: { ids, positions }, params }, isHostTensor, tensors) as never as {
      readonly input: CausalLmInput;
      readonly params: Traced<CausalLmParameters>;
    };
    return { logits: model.apply(given.params, given.input, { training: false, key: key(0) }) };
  });
  return evaluate(graph, Object.fromEntries(leaves))["logits"]?.data as Float32Array;
}

/** The CPU computes in f16; bf16 is stored alone. */
const TOLERANCES = { f32: 1e-4, f16: 5e-2, bf16: 1e-4 } as const;

it("has the logits of the whole text, whatever the model, the batch, its padding and its parts", async () => {
  const check = async ({ config, seed, lengths, parts, dtype, opset }: Case): Promise<void> => {
    const model = causalLm(config);
    const params = shaken(model.init(key(seed)), seed);
    const time = Math.max(...lengths);
    const rows = lengths.map((length, row) => {
      const text = Array.from({ length }, (_, at) => (seed + 5 * row + at * at * 7) % 13);
      const padding = Array.from({ length: time - length }, () => 0);
      return {
        text,
        ids: [...padding, ...text],
        mask: [...padding, ...text.map(() => 1)],
        // As transformers counts: padding is at 1. It attends to itself alone.
        positions: [...padding.map(() => 1), ...text.keys()],
      };
    });
    const decoder = await Decoder.open({ model, params }, rows.length, { dtype, opset });
    const made: Float32Array[][] = rows.map(() => []);
    for (let start = 0, part = 0; start < time; part++) {
      const end = Math.min(time, start + (parts[part] ?? time));
      const ids = rows.map((row) => row.ids.slice(start, end));
      const mask = rows.map((row) => row.mask.slice(0, end));
      const positions = rows.map((row) => row.positions.slice(start, end));
      const logits = await decoder.next(ids, mask, positions);
      for (const [row, own] of logits.entries()) made[row]?.push(...own);
      start = end;
    }
    await decoder.release();
    const stored = { model, params: rounded(params, dtype) };
    for (const [row, { text }] of rows.entries()) {
      const alone = wholeLogits(stored, [0], 1);
      const padding = Array.from({ length: time - text.length }, () => [...alone]);
      const want = [...padding.flat(), ...wholeLogits(stored, text)];
      const got = made[row]?.flatMap((each) => [...each]) ?? [];
      expect(got.length).toBe(want.length);
      for (const [at, value] of got.entries())
        expect(Math.abs(value - (want[at] as number)), `row ${row}, ${at}`).toBeLessThan(TOLERANCES[dtype]);
    }
  };
  await fc.assert(fc.asyncProperty(cases, check), { numRuns: RUNS });
});

it("runs the program of docs/language-models.md in plain onnxruntime-node, which prints what it says", async () => {
  // In the package, so that Node finds onnxruntime-node.
  const folder = await mkdtemp(fileURLToPath(new URL("../.language-models-page-", import.meta.url)));
  try {
    const model = causalLm({
      model_type: "llama",
      vocab_size: 256,
      hidden_size: 16,
      intermediate_size: 8,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
    });
    const params = model.init(key(0));
    const decoder = onnxDecoder(model);
    const file = exportOnnx(decoder, { params }, decoder.signature);
    await saveCausalLm(join(folder, "model"), model, params);
    await mkdir(join(folder, "model/onnx"));
    await writeFile(join(folder, "model/onnx/model.onnx"), encodeModel(file));
    const program = blockOf("js", "language-models.md");
    await writeFile(join(folder, "write.mjs"), program);
    const { stdout, stderr } = spawnSync(process.execPath, ["write.mjs"], { cwd: folder, encoding: "utf8" });
    expect(stderr).toBe("");
    expect(`// ${stdout.trim()}`).toBe(program.trim().split("\n").at(-1));
  } finally {
    await rm(folder, { recursive: true });
  }
});
