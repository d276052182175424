/** Codes and scales against libraries, on 2^20 numbers that fixtures/quantization.py makes too. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { inflateSync } from "node:zlib";
import { type HostTensor, type Tensor, type TensorTree, tensor } from "@mp/graph";
import { clip, concat, reshape, slice } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { traceTrees } from "../../graph/test/run-traced.js";
import { float8 } from "../src/precision/quantized-presets.js";
import { type DelayedScaling, delayedScaling } from "../src/quantize/delayed-scaling.js";
import { type ElementFormat, elementFormats } from "../src/quantize/element-format.js";
import { quantize, quantizeBlocks } from "../src/quantize/quantize.js";
import type { QuantizationRule } from "../src/quantize/rule.js";
import { initialScaling, nextScaling } from "../src/quantize/scaling-state.js";
import { blocks, EDGES, patterns } from "./seeded-numbers.js";

interface Wanted {
  readonly sha256: string;
  /** Key of the results for the first numbers of `patterns`. */
  readonly edges?: string;
}

/** How many elements of a library depart from the rule, and what XOR makes of ours; left out if these are many. */
interface Differ {
  readonly count: number;
  readonly mask?: string;
}

interface Result {
  readonly library: string;
  readonly why?: string;
}

interface Cast extends Result, Wanted {
  readonly format: ElementFormat | "e8m0";
  readonly saturate: boolean;
  readonly differ?: Differ;
}

interface Recipe extends Result {
  readonly function: string;
  readonly rule: QuantizationRule;
  readonly values: "patterns" | "blocks";
  readonly codes?: Wanted;
  readonly scales: Wanted;
  readonly differ?: { readonly codes?: Differ; readonly scales: Differ };
}

interface Delayed {
  readonly options: DelayedScaling;
  readonly codes: string;
  readonly scales: string;
  readonly history: string;
}

const fixture = JSON.parse(
  readFileSync(new URL("./fixtures/quantization.json", import.meta.url), "utf8"),
) as {
  readonly inputs: Readonly<Record<Recipe["values"], string>>;
  readonly casts: readonly Cast[];
  readonly recipes: readonly Recipe[];
  readonly delayed: readonly Delayed[];
  readonly edges: Readonly<Record<string, string>>;
};

type Bits = Uint8Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;
const bytesOf = (data: ArrayBufferView): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
const sha256 = (data: ArrayBufferView): string => createHash("sha256").update(bytesOf(data)).digest("hex");
const inflate = (text: string): Uint8Array => inflateSync(Buffer.from(text, "base64"));

const inputs = { patterns: patterns(), blocks: blocks() };

/** Results that several libraries are compared with. */
const computed = new Map<string, unknown>();
function once<T>(key: unknown, compute: () => T): T {
  const name = JSON.stringify(key);
  if (!computed.has(name)) computed.set(name, compute());
  return computed.get(name) as T;
}

const NO_NUMBER = 16;
const grid = [0, 0.5, 1, 1.5, 2, 3, 4, 6];

/** The code of a number of e2m1's grid: three bits and the sign; of NaN, which has none, 16. */
function gridCode(number: number): number {
  if (Number.isNaN(number)) return NO_NUMBER;
  return grid.indexOf(Math.abs(number)) + (Object.is(Math.sign(number), -0) || number < 0 ? 8 : 0);
}

function codesOf({ data }: HostTensor): Uint8Array<ArrayBuffer> {
  if (!(data instanceof Float32Array)) return new Uint8Array(data as Uint8Array);
  const codes = new Uint8Array(data.length);
  for (let at = 0; at < codes.length; at++) codes[at] = gridCode(data[at] as number);
  return codes;
}

function bitsOf({ data }: HostTensor): Uint32Array<ArrayBuffer> {
  const numbers = new Float32Array(data as Float32Array);
  for (let at = 0; at < numbers.length; at++) if (Number.isNaN(numbers[at])) numbers[at] = Number.NaN;
  return new Uint32Array(numbers.buffer);
}

/** Bytes as the type of `like`. */
const viewAs = <B extends Bits>(like: B, bytes: Uint8Array): B =>
  new (like.constructor as new (buffer: ArrayBufferLike) => B)(new Uint8Array(bytes).buffer);

/** Ours, with the library's bits where it departs from the rule. */
function departed<B extends Bits>(ours: B, { count, mask }: Differ): B {
  if (mask === undefined) return ours;
  const result = viewAs(ours, inflate(mask));
  expect(result.length).toBe(ours.length);
  let departing = 0;
  for (let at = 0; at < result.length; at++) {
    if (result[at] !== 0) departing++;
    result[at] = (result[at] as number) ^ (ours[at] as number);
  }
  expect(departing).toBe(count);
  return result;
}

/** Checks that ours are the library's, but where the fixture says otherwise. */
function expectBits(ours: Bits, { sha256: wanted, edges }: Wanted, differ: Differ = { count: 0 }): void {
  const got = departed(ours, differ);
  if (edges !== undefined) {
    // One by one, so that a failure names the number.
    const kept = viewAs(got, inflate(fixture.edges[edges] as string));
    expect(kept).toHaveLength(EDGES);
    const at = kept.findIndex((bits, index) => bits !== got[index]);
    expect({ at, number: inputs.patterns[at], bits: got[at] }).toEqual({ at: -1 });
  }
  const isKnown = differ.count === 0 || differ.mask !== undefined;
  if (isKnown) expect(sha256(got)).toBe(wanted);
  else expect(sha256(got)).not.toBe(wanted);
}

describe("seeded numbers", () => {
  it.each(Object.entries(inputs))("%s have the bits of the script in Python", (name, data) => {
    expect(sha256(data)).toBe(fixture.inputs[name as Recipe["values"]]);
  });
});

describe("casts of 2^20 numbers", () => {
  const known = fixture.casts.filter(
    (each): each is Cast & { format: ElementFormat } => each.format !== "e8m0",
  );

  it.each(known)("$library: $format, saturate $saturate", ({ format, saturate, differ, ...wanted }) => {
    const codes = once([format, saturate], () => {
      const { maxFinite, nearest } = elementFormats[format];
      const data = tensor(inputs.patterns, [inputs.patterns.length]);
      const run = traceTrees(data, (x) =>
        nearest(saturate ? clip(x as Tensor, { min: -maxFinite, max: maxFinite }) : (x as Tensor)),
      );
      return codesOf(run(data) as HostTensor);
    });
    expectBits(codes, wanted, differ);
  });
});

/** A rule's codes and scales: of numbers that are blocks of their own, or of `blocks`, as one matrix or as 64. */
function quantized({ rule, values, codes }: Recipe): { codes: Bits; scales: Bits } {
  const isByTensor = rule.granularity === "tensor" || rule.scale?.format === "f8e4m3";
  const [count, rows] = values === "patterns" ? [1, 1 << 20] : isByTensor ? [64, 16] : [1, 1024];
  const size = inputs[values].length / count;
  const parts = Array.from({ length: count }, (_, part) =>
    tensor(inputs[values].subarray(part * size, (part + 1) * size), [rows, size / rows]),
  );
  const run = traceTrees(parts[0] as HostTensor, (x) => {
    const made = quantize(x as Tensor, rule, 1);
    return codes === undefined ? { scale: made.scale } : { codes: made.codes, scale: made.scale };
  });
  const results = parts.map((part) => run(part) as unknown as { codes?: HostTensor; scale: HostTensor });
  const joined = (arrays: readonly ArrayBufferView[]): ArrayBuffer =>
    new Uint8Array(Buffer.concat(arrays.map(bytesOf))).buffer;
  return {
    codes: new Uint8Array(
      joined(results.flatMap(({ codes }) => (codes === undefined ? [] : codesOf(codes)))),
    ),
    scales: new Uint32Array(joined(results.map(({ scale }) => bitsOf(scale)))),
  };
}

describe("recipes on 2^20 numbers", () => {
  it.each(fixture.recipes)("$library: $function, $rule.format, $rule.granularity, $values", (recipe) => {
    const { rule, values } = recipe;
    const { codes, scales } = once([rule, values], () => quantized(recipe));
    expectBits(scales, recipe.scales, recipe.differ?.scales);
    if (recipe.codes !== undefined) expectBits(codes, recipe.codes, recipe.differ?.codes);
  });
});

/** 200 rows of 64, as the script takes them; the last 16 are so small that their scales would be infinite. */
const recorded = [...Array(200).keys()].map((at) => {
  const [row, factor] = at < 184 ? [384 + at, 1] : [1008 + at - 184, 2 ** -16];
  return tensor(
    inputs.blocks.slice(1024 * row, 1024 * row + 64).map((x) => x * factor),
    [1, 64],
  );
});

type ScalingTensors = Readonly<Record<"history" | "scale", { readonly w: HostTensor }>>;

describe("delayed scaling of 200 recorded tensors", () => {
  it.each(fixture.delayed)("$options", ({ options, ...wanted }) => {
    const { recipe } = float8({ scaling: delayedScaling(options), gradient: "f8e4m3" });
    const parameters = { w: tensor(new Float32Array(4), [2, 2]) };
    let state = traceTrees(parameters, (tree) => initialScaling(tree, delayedScaling(recipe.scaling)))(
      parameters,
    ) as never as ScalingTensors;
    const step = traceTrees({ x: recorded[0], state } as never, (given) => {
      const { x, state } = given as { x: Tensor; state: TensorTree & { scale: { w: Tensor } } };
      const encode = reshape(slice(state.scale.w, [{ axis: 0, end: 1 }]), []);
      const { codes, amax } = quantizeBlocks(x, recipe.rules.input, 1, { encode });
      const seen = reshape(amax, [1]);
      return { codes, next: nextScaling(state, { w: concat([seen, seen, seen]) }, recipe) };
    });
    const scales: number[] = [];
    const codes = recorded.map((x) => {
      scales.push((state.scale.w.data as Float32Array)[0] as number);
      const made = step({ x, state } as never) as never as { codes: HostTensor; next: ScalingTensors };
      state = made.next;
      return codesOf(made.codes);
    });
    const numbersIn = (packed: string): Float32Array =>
      new Float32Array(new Uint8Array(inflate(packed)).buffer);
    expect(Float32Array.from(scales)).toEqual(numbersIn(wanted.scales));
    const history = (state.history.w.data as Float32Array).filter((_, at) => at % 3 === 0);
    expect(history).toEqual(numbersIn(wanted.history));
    expect(sha256(Buffer.concat(codes))).toBe(wanted.codes);
  });
});
