// Compares codes, scales and numbers of quantized weights with bitsandbytes', bit for bit. The fixture is made by
// bench/peers/quantized_weights.py; FOLDER=… compares the cases of `quantized_weights.py large FOLDER` too.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type HostTensor, tensor } from "@mp/core";
import { describe, expect, it } from "vitest";
import { run } from "../../test/run-layer.js";
import { quantizeWeight, WEIGHT_FORMATS, weightOnHost, withWeight } from "./stored-weight.js";
import { torchMean } from "./torch-mean.js";

interface Case {
  readonly name: string;
  readonly shape: readonly [number, number];
  readonly weight: string;
  readonly int8: Readonly<Record<string, string>>;
  readonly nf4: Readonly<Record<string, string>>;
}

const read = (path: string | URL): unknown => JSON.parse(readFileSync(path, "utf8"));
const fixture = read(
  new URL("../../test/fixtures/quantized-weights.json", import.meta.url),
) as readonly Case[];
const folder = process.env["FOLDER"];
const large = folder === undefined ? [] : readdirSync(folder).map((name) => read(join(folder, name)) as Case);

const bytes = (text: string | undefined): Uint8Array => Uint8Array.from(Buffer.from(text ?? "", "base64"));
const bytesOf = ({ data }: { readonly data: ArrayLike<unknown> }): Uint8Array => {
  const { buffer, byteOffset, byteLength } = data as Uint8Array;
  return new Uint8Array(buffer, byteOffset, byteLength);
};
const floats = (text: string): Float32Array => new Float32Array(bytes(text).buffer as ArrayBuffer);

/** Converts codes of bitsandbytes, which are signed for int8. */
const stored: Readonly<Record<string, (given: Uint8Array) => Uint8Array>> = {
  int8: (given) => given.map((code) => code ^ 128),
};

function expectSame(got: Uint8Array, want: Uint8Array, what: string): void {
  const at = got.length === want.length ? got.findIndex((byte, place) => byte !== want[place]) : 0;
  if (at >= 0) throw new Error(`${what}: byte ${at} of ${want.length} is ${got[at]}, must be ${want[at]}`);
}

describe.each(["int8", "nf4"] as const)("%s", (format) => {
  it.each([...fixture, ...large].map((each) => [each.name, each.shape, each] as const))(
    "has bitsandbytes' bits: %s %j",
    (_name, shape, { weight, [format]: want }) => {
      const got = WEIGHT_FORMATS[format].quantize(floats(weight), shape);
      const { decoded, ...parts } = want;
      expect(Object.keys(got)).toEqual(Object.keys(parts));
      for (const [name, text] of Object.entries(parts)) {
        const part = got[name as never] as HostTensor;
        expectSame(bytesOf(part), (stored[name] ?? ((given) => given))(bytes(text)), name);
      }
      expectSame(bytesOf(weightOnHost(got)), bytes(decoded), "decoded");
      if (shape[0] * shape[1] > 10_000) return;
      const traced = run({ weight: got as never }, (all) => withWeight(all.weight as never, (own) => own), {
        arithmetic: "exact",
      }) as { readonly data: Float32Array };
      expectSame(bytesOf(traced), bytes(decoded), "decoded in a graph");
    },
  );
});

it("refuses nf4 for rows of an odd length", () => {
  expect(() => WEIGHT_FORMATS.nf4.quantize(new Float32Array(6), [2, 3])).toThrow(
    /even number.*\[2, 3\].*int8/,
  );
});

describe("weights whose scales would not be finite", () => {
  const filled = (value: number) => new Float32Array(256).fill(0.5).fill(value, 3, 4);

  it.each(["int8", "nf4"] as const)("are refused in %s, and others near them are finite", (format) => {
    for (const value of [3e38, -3e38, 2 ** 122, Number.POSITIVE_INFINITY, Number.NaN])
      expect(() => quantizeWeight(format, tensor(filled(value).fill(value), [4, 64])), `${value}`).toThrow(
        expect.objectContaining({
          code: "MP_OUT_OF_RANGE",
          message: expect.stringMatching(`^${format}: the scales of a weight must be below 2\\^121, got `),
        }),
      );
    for (const value of [1e36, -1e36, 1e-38, 0, 2 ** -149]) {
      const weight = quantizeWeight(format, tensor(filled(value), [4, 64]));
      expect([...weightOnHost(weight).data].every((number) => Number.isFinite(number))).toBe(true);
    }
  });
});

it.each<readonly [mean: number, values: readonly number[]]>([
  [2.078747510910034, [2.078747510910034]],
  [1.650895118713379, [1.973876953125, 1.27227783203125, 1.7065308094024658]],
  [0.7780029773712158, [1.8339600563049316, 0.4954833984375, 0.1221923828125, 0.6603760123252869]],
  // Added up one by one, these give other last bits.
  [
    1.1761621236801147,
    [0.560742199420929, 2.1789186000823975, 0.9791504144668579, 1.0519287586212158, 1.110070824623108],
  ],
  [
    1.2224832773208618,
    [
      1.540563941001892, 1.3688232898712158, 0.7503418326377869, 2.1756958961486816, 1.0257446765899658,
      0.4737304747104645,
    ],
  ],
  [
    1.3497943878173828,
    [
      1.8260376453399658, 1.4601318836212158, 0.33985596895217896, 1.1743897199630737, 0.58880615234375,
      2.1226563453674316, 1.9366822242736816,
    ],
  ],
])("the mean of few scales is %f, by the order of PyTorch's row_sum", (mean, values) => {
  expect(torchMean(Float32Array.from(values))).toBe(mean);
});
