// Text from transformers' models: its greedy tokens, with the cache on ONNX Runtime and on the reference, and what is left when a text ends.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { float32, mixedBfloat16 } from "@mp/core";
import { type Backend, full } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { generate, generator, loadCausalLm, type TextGenerator, type TokenStream } from "@mp/language-models";
import { loadAdapter } from "@mp/nn/adapters";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ort } from "../src/index.js";

const folderOf = (name: string): string =>
  fileURLToPath(new URL(`../../language-models/test/fixtures/transformers/${name}`, import.meta.url));
const greedyOf = async (name: string): Promise<readonly number[]> =>
  JSON.parse(await readFile(join(folderOf(name), "expected.json"), "utf8")).greedy;

interface Ended {
  readonly tokens: readonly number[];
  readonly reason: string;
}

async function ended(stream: TokenStream): Promise<Ended> {
  const tokens: number[] = [];
  for (;;) {
    const { done, value } = await stream.next();
    if (done === true) return { tokens, reason: value };
    tokens.push(value);
  }
}

let backend: Backend;
beforeAll(async () => {
  backend = await ort();
});
afterAll(() => backend.dispose());

const GREEDY = { temperature: 0 };

describe.each(["llama-grouped", "llama-tied"])("%s", (name) => {
  it("has transformers' greedy tokens, with prompts of every length", async () => {
    const want = await greedyOf(name);
    const { model, params } = await loadCausalLm(folderOf(name));
    const writer = await generator({ backend, model, params, precision: float32(), length: want.length });
    expect(writer.length).toBe(128);
    for (const length of [4, 5, 7, 8, 9, 33, 64, 100]) {
      const maxTokens = want.length - length;
      const { tokens, reason } = await ended(
        writer.generate(want.slice(0, length), { ...GREEDY, maxTokens }),
      );
      expect([length, tokens]).toEqual([length, want.slice(length)]);
      expect(reason).toBe("maxTokens");
    }
    await writer.dispose();
  });
});

it("writes the same from a base in bf16, where the file is in bf16", async () => {
  const want = await greedyOf("llama-tied");
  const own = {
    backend,
    precision: float32(),
    ...(await loadCausalLm(folderOf("llama-tied"), { base: "bf16" })),
  };
  const { tokens } = await ended(generate(own, want.slice(0, 4), { ...GREEDY, maxTokens: 40 }));
  expect(tokens).toEqual(want.slice(4, 44));
});

describe("llama-grouped", () => {
  let loaded: Awaited<ReturnType<typeof loadCausalLm>>;
  let writer: TextGenerator;
  let greedy: readonly number[];
  beforeAll(async () => {
    loaded = await loadCausalLm(folderOf("llama-grouped"));
    greedy = await greedyOf("llama-grouped");
    writer = await generator({ backend, ...loaded, precision: float32(), length: 128 });
  });
  afterAll(() => writer.dispose());

  it("writes the same on the reference, from one token too", async () => {
    const own = await reference();
    for (const prompt of [greedy.slice(0, 1), greedy.slice(0, 6)]) {
      const want = await ended(writer.generate(prompt, { ...GREEDY, maxTokens: 8 }));
      const options = { backend: own, ...loaded, precision: float32() };
      expect(await ended(generate(options, prompt, { ...GREEDY, maxTokens: 8 }))).toEqual(want);
    }
    await own.dispose();
  });

  it("draws the same tokens by the same seed, whatever was written before", async () => {
    const options = { temperature: 1.5, topK: 40, topP: 0.95, maxTokens: 40, seed: 7 };
    const first = await ended(writer.generate(greedy.slice(0, 5), options));
    await ended(writer.generate(greedy.slice(0, 90), { ...options, maxTokens: 20 }));
    expect(await ended(writer.generate(greedy.slice(0, 5), options))).toEqual(first);
    const other = await ended(writer.generate(greedy.slice(0, 5), { ...options, seed: 8 }));
    expect(other.tokens).not.toEqual(first.tokens);
  });

  it("ends at a token, and at a sequence, of which nothing is given", async () => {
    const prompt = greedy.slice(0, 4);
    const rest = greedy.slice(4);
    const first = rest.indexOf(rest[9] as number);
    const one = await ended(writer.generate(prompt, { ...GREEDY, stop: [rest[9] as number] }));
    expect(one).toEqual({ tokens: rest.slice(0, first), reason: "stop" });
    const sequence = rest.slice(20, 26);
    const many = await ended(writer.generate(prompt, { ...GREEDY, maxTokens: 90, stop: [sequence] }));
    expect(many.reason).toBe("stop");
    expect([...many.tokens, ...sequence]).toEqual(rest.slice(0, many.tokens.length + sequence.length));
  });

  it("writes with an adapter what the merged model writes, and in a half", async () => {
    const { model, params } = loaded;
    const adapter = await loadAdapter(join(folderOf("llama-grouped"), "trained"), model);
    const own = { backend, model, precision: float32() };
    const text = { ...GREEDY, maxTokens: 30 };
    const merged = adapter.adapted.merge(adapter.adapters, params);
    const want = await ended(generate({ ...own, params: merged as never }, greedy.slice(0, 4), text));
    expect(await ended(generate({ ...own, params, adapter }, greedy.slice(0, 4), text))).toEqual(want);
    const half = { ...own, params, adapter, precision: mixedBfloat16() };
    expect((await ended(generate(half, greedy.slice(0, 4), text))).tokens.length).toBe(30);
  });

  it("frees everything when a text is broken off, ends at a signal, or fails", async () => {
    const before = backend.stats();
    for await (const token of generate({ backend, ...loaded }, greedy.slice(0, 4))) {
      expect(token).toBeLessThan(loaded.model.sizes.vocabulary);
      expect(backend.stats().live).toBeGreaterThan(before.live);
      break;
    }
    expect(backend.stats()).toEqual(before);
    const controller = new AbortController();
    const stream = generate({ backend, ...loaded }, greedy.slice(0, 4), { signal: controller.signal });
    await stream.next();
    controller.abort();
    expect(await stream.next()).toEqual({ done: true, value: "signal" });
    expect(backend.stats()).toEqual(before);
    const own = await generator({ backend, ...loaded });
    const open = own.generate(greedy.slice(0, 4));
    await open.next();
    await own.dispose();
    await expect(open.next()).rejects.toMatchObject({ code: "MP_DISPOSED" });
    expect(backend.stats()).toEqual(before);
  });

  it("throws for logits that are not finite, and frees everything", async () => {
    const before = backend.stats();
    const head = full([loaded.model.sizes.vocabulary, loaded.model.config["hidden_size"] as number], 3e38);
    const params = { ...loaded.params, lm_head: { weight: head } };
    await expect(
      generate({ backend, ...loaded, params, precision: float32() }, [1]).next(),
    ).rejects.toMatchObject({ code: "MP_NON_FINITE" });
    expect(backend.stats()).toEqual(before);
  });

  it("ends a text when another begins", async () => {
    const [first, second] = [
      writer.generate(greedy.slice(0, 4)),
      writer.generate(greedy.slice(0, 4), GREEDY),
    ];
    await first.next();
    expect((await second.next()).value).toBe(greedy[4]);
    await expect(first.next()).rejects.toMatchObject({ code: "MP_DISPOSED" });
    expect((await second.next()).value).toBe(greedy[5]);
  });

  it("refuses what does not fit", async () => {
    const code = "MP_INVALID_ARGUMENT";
    const refused = (message: RegExp) =>
      expect.objectContaining({ code, message: expect.stringMatching(message) });
    const long = Array.from({ length: 300 }, () => 1);
    const positions = loaded.model.sizes.positions;
    await expect(generate({ backend, ...loaded }, long).next()).rejects.toEqual(
      refused(new RegExp(`300 tokens .* ${positions}, the model's max_position_embeddings`)),
    );
    expect(() => writer.generate(greedy, { maxTokens: 100 })).toThrow(refused(/larger length/));
    expect(() => writer.generate([])).toThrow(refused(/at least one token/));
    expect(() => writer.generate([1, 1000])).toThrow(refused(/1000 at 1; its tokenizer/));
    expect(() => writer.generate([1], { temperature: -1 })).toThrow(refused(/temperature must be/));
    expect(() => writer.generate([1], { stop: [[]] })).toThrow(refused(/stop must be/));
    await expect(generator({ backend, ...loaded, length: positions + 1 })).rejects.toEqual(
      refused(/length must be at most .* max_position_embeddings/),
    );
    await expect(generator({ backend, ...loaded, model: {} as never })).rejects.toEqual(refused(/causalLm/));
  });
});
