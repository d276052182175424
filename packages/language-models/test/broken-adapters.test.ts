// Folders of models and adapters whose files are cut short, damaged or of something else: they load with the right
// values, or are refused by a code, the file and a remedy.
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type HostTensor, isHostTensor, leavesOf, MpError } from "@mp/core";
import { loadAdapter } from "@mp/nn/adapters";
import type { SafetensorsTensor } from "@mp/safetensors";
import { loadFile, saveFile } from "@mp/safetensors/file";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadCausalLm } from "../src/index.js";

const fixtures = fileURLToPath(new URL("./fixtures/transformers", import.meta.url));

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "mp-broken-files-"));
});
afterAll(() => rm(directory, { recursive: true }));

/** Integers below a limit, the same in each run. */
function drawn(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** The weights of a folder. */
type Load = () => Promise<object>;

interface Opened {
  readonly folder: string;
  readonly load: Load;
}

/** A copy of a folder. That of an adapter is opened with the model above it. */
async function opened(name: string): Promise<Opened> {
  const folder = await mkdtemp(join(directory, "copy-"));
  await cp(join(fixtures, name), folder, { recursive: true });
  if (!name.includes("/")) return { folder, load: async () => (await loadCausalLm(folder)).params };
  const { model } = await loadCausalLm(join(fixtures, name, ".."));
  return { folder, load: async () => (await loadAdapter(folder, model)).adapters };
}

const numbersOf = (weights: object): number[] =>
  leavesOf<HostTensor>(weights, isHostTensor, "weights").flatMap(([, { data }]) =>
    Array.from(data as Float32Array),
  );

const REMEDY =
  /must .*, got |[;,] (check|correct|copy|download|load|make|pass|other models|older files|set it to) /;

/** The weights, or nothing where a refusal has a code, the file and a remedy. */
async function outcome({ folder, load }: Opened): Promise<object | undefined> {
  try {
    return await load();
  } catch (error) {
    if (!MpError.is(error)) throw error;
    expect(error.message).toContain(`${folder}/`);
    expect(error.message).toMatch(REMEDY);
    return undefined;
  }
}

/** Cut anywhere, or with one or two bits turned over, mostly in the header. */
function damaged(whole: Buffer, draw: (limit: number) => number): { bytes: Buffer; flips: number } {
  if (draw(4) === 0) return { bytes: whole.subarray(0, draw(whole.length)), flips: 0 };
  const bytes = Buffer.from(whole);
  const isText = whole[0] === "{".charCodeAt(0);
  const header = isText ? whole.length : 8 + Number(whole.readBigUInt64LE(0));
  const flips = 1 + draw(2);
  for (let flip = 0; flip < flips; flip++) {
    const at = draw(draw(3) === 0 ? whole.length : header);
    bytes[at] = (bytes[at] as number) ^ (1 << draw(8));
  }
  return { bytes, flips };
}

describe.each([
  ["llama-grouped", ["model.safetensors", "config.json"]],
  ["llama-tied", ["model-00002-of-00002.safetensors", "model.safetensors.index.json", "config.json"]],
  ["gpt2", ["config.json"]],
  ["llama-grouped/trained", ["adapter_model.safetensors", "adapter_config.json"]],
] as const)("a folder such as %s", (name, files) => {
  it.each(files)("with %s cut or damaged anywhere", async (file) => {
    const own = await opened(name);
    const path = join(own.folder, file);
    const whole = await readFile(path);
    const want = numbersOf(await own.load());
    const draw = drawn(whole.length);
    let refused = 0;
    for (let run = 0; run < 30; run++) {
      const { bytes, flips } = damaged(whole, draw);
      await writeFile(path, bytes);
      const weights = await outcome(own);
      if (weights === undefined) refused++;
      else {
        const got = numbersOf(weights);
        expect(got.length).toBe(want.length);
        expect(got.filter((value, at) => value !== want[at]).length).toBeLessThanOrEqual(flips);
      }
    }
    expect(refused).toBeGreaterThan(10);
  });

  const text = files.find((each) => each.endsWith("config.json")) as string;
  it(`with a wrong value of any field of ${text}`, async () => {
    const own = await opened(name);
    const path = join(own.folder, text);
    const whole: Readonly<Record<string, unknown>> = JSON.parse(await readFile(path, "utf8"));
    for (const field of Object.keys(whole)) {
      for (const value of [undefined, -1, 0.5, 7, 2 ** 22, 2 ** 40, "x", true, ["x"], { x: 1 }]) {
        await writeFile(path, JSON.stringify({ ...whole, [field]: value }));
        await outcome(own);
      }
    }
  });
});

type Tensors = Readonly<Record<string, SafetensorsTensor>>;

describe("weights", () => {
  const CHANGES: Readonly<Record<string, (name: string, tensor: SafetensorsTensor) => Tensors>> = {
    missing: () => ({}),
    "of another name": (name, tensor) => ({ [`${name}.x`]: tensor }),
    "of another layer too": (name, tensor) => ({
      [name]: tensor,
      [name.replace("layers.0", "layers.9")]: tensor,
    }),
    "of another rank": (name, { dtype, shape, data }) => ({ [name]: { dtype, shape: [1, ...shape], data } }),
    "of another shape": (name, { dtype, shape: [first = 0, ...rest], data }) => ({
      [name]: { dtype, shape: [first / 2, 2, ...rest], data },
    }),
    "of another dtype": (name, tensor) => ({ [name]: { ...tensor, dtype: "I32" } }),
    "that are no numbers": (name, { dtype, shape, data }) => ({
      [name]: { dtype, shape, data: new Uint8Array(data.length).fill(255) },
    }),
  };
  it.each(
    Object.keys(CHANGES).flatMap((change) => [
      ["llama-grouped", "model.safetensors", change] as const,
      ["llama-grouped/trained", "adapter_model.safetensors", change] as const,
    ]),
  )("of %s, %s, one of them %s, are refused", async (folder, file, change) => {
    const own = await opened(folder);
    const path = join(own.folder, file);
    const { tensors } = await loadFile(path);
    const first = Object.keys(tensors).filter((name) => name.includes("layers.0"));
    for (const name of first.filter((_, at) => at % 4 === 0)) {
      const { [name]: changed, ...rest } = tensors;
      await saveFile(path, { ...rest, ...CHANGES[change]?.(name, changed as SafetensorsTensor) });
      await expect(own.load()).rejects.toMatchObject({
        code: "MP_CHECKPOINT_MISMATCH",
        message: expect.stringContaining(path),
      });
      expect(await outcome(own)).toBeUndefined();
    }
  });

  it("of an adapter are refused by every other model", async () => {
    const models = ["llama-grouped", "llama-tied", "gpt2", "qwen2", "qwen3"];
    for (const name of models) {
      const { folder } = await opened(`${name}/trained`);
      for (const other of models.filter((each) => each !== name)) {
        const { model } = await loadCausalLm(join(fixtures, other));
        const load: Load = async () => (await loadAdapter(folder, model)).adapters;
        expect(await outcome({ folder, load })).toBeUndefined();
      }
    }
  });
});
