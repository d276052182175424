import { describe, expect, it } from "vitest";
import { bytesPerElement } from "../dtype.js";
import { MpError } from "../errors.js";
import { decode, decodeArray, encode, encodeArray } from "./bits.js";
import { roundTo } from "./round.js";

const NARROW = ["f16", "bf16", "f8e4m3", "f8e5m2"] as const;
const NAN_BITS = { f32: 0x7fc00000, f16: 0x7e00, bf16: 0x7fc0, f8e4m3: 0x7f, f8e5m2: 0x7e } as const;
const NANS = { f16: 2046, bf16: 254, f8e4m3: 2, f8e5m2: 6 } as const;

describe.each(NARROW)("%s", (dtype) => {
  const count = 2 ** (8 * bytesPerElement[dtype]);

  it("every bit pattern survives decode and encode; every NaN becomes the canonical one", () => {
    let nans = 0;
    for (let bits = 0; bits < count; bits++) {
      const value = decode(dtype, bits);
      if (Number.isNaN(value)) nans++;
      const want = Number.isNaN(value) ? NAN_BITS[dtype] : bits;
      if (encode(dtype, value) !== want) expect.fail(`bits ${bits} came back as ${encode(dtype, value)}`);
      if (!Object.is(roundTo(dtype, value), value)) expect.fail(`${value} is not a fixed point`);
    }
    expect(nans).toBe(NANS[dtype]);
  });

  it("arrays do as elements do, from f32 and from f64, over all bit patterns", () => {
    const all = Uint16Array.from({ length: count }, (_, bits) => bits);
    const bits = count === 256 ? Uint8Array.from(all) : all;
    const values = decodeArray(dtype, bits);
    const again = encodeArray(dtype, values);
    const fromDouble = encodeArray(dtype, Float64Array.from(values));
    expect(again.constructor).toBe(bits.constructor);
    for (let i = 0; i < count; i++) {
      const want = encode(dtype, decode(dtype, i));
      if (!Object.is(values[i], decode(dtype, i)) || again[i] !== want || fromDouble[i] !== want) {
        expect.fail(`bits ${i}: value ${values[i]}, back ${again[i]}, from f64 ${fromDouble[i]}`);
      }
    }
  });

  it("encodes f32 arrays as rounding says, over random bits and views with an offset", () => {
    const random = new Uint32Array(300_001);
    let state = 7;
    for (let i = 0; i < random.length; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      random[i] = state;
    }
    const source = new Float32Array(random.buffer, 4);
    const got = encodeArray(dtype, source);
    for (let i = 0; i < source.length; i++) {
      const x = source[i] ?? 0;
      if (got[i] !== encode(dtype, x))
        expect.fail(`${x} in an array is ${got[i]}, alone ${encode(dtype, x)}`);
      if (!Object.is(decode(dtype, got[i] ?? 0), roundTo(dtype, x))) expect.fail(`${x} is not rounded`);
    }
  });
});

describe("bits", () => {
  it.each([
    ["f16", 1, 0x3c00],
    ["f16", -2, 0xc000],
    ["f16", 65504, 0x7bff],
    ["f16", 65519, 0x7bff],
    ["f16", 65520, 0x7c00],
    ["f16", Number.NEGATIVE_INFINITY, 0xfc00],
    ["f16", 2 ** -14, 0x0400],
    ["f16", 2 ** -14 - 2 ** -24, 0x03ff],
    ["f16", 2 ** -14 - 2 ** -25, 0x0400],
    ["f16", 2 ** -24, 0x0001],
    ["f16", 2 ** -25, 0x0000],
    ["f16", -(2 ** -25), 0x8000],
    ["f16", 0.1, 0x2e66],
    ["f16", 1 + 2 ** -11 + 2 ** -40, 0x3c01],
    ["bf16", 1, 0x3f80],
    ["bf16", 0.1, 0x3dcd],
    ["bf16", 2 ** -133, 0x0001],
    ["bf16", 3.4e38, 0x7f80],
    ["bf16", 3.3895313892515355e38, 0x7f7f],
    ["bf16", -0, 0x8000],
    ["f8e4m3", 1, 0x38],
    ["f8e4m3", 448, 0x7e],
    ["f8e4m3", 464, 0x7e],
    ["f8e4m3", 465, 0x7f],
    ["f8e4m3", Number.NEGATIVE_INFINITY, 0x7f],
    ["f8e4m3", 2 ** -9, 0x01],
    ["f8e4m3", -(2 ** -6), 0x88],
    ["f8e5m2", 1, 0x3c],
    ["f8e5m2", 57344, 0x7b],
    ["f8e5m2", 61440, 0x7c],
    ["f8e5m2", -Number.MAX_VALUE, 0xfc],
    ["f8e5m2", 2 ** -16, 0x01],
    ["f32", 1, 0x3f800000],
    ["f32", -0, 0x80000000],
    ["f32", 2 ** -149, 1],
    ["f32", 3.5e38, 0x7f800000],
  ] as const)("%s of %d", (dtype, x, want) => {
    expect(encode(dtype, x).toString(16)).toBe(want.toString(16));
  });

  it.each(["f32", ...NARROW] as const)("%s has one NaN", (dtype) => {
    expect(encode(dtype, Number.NaN)).toBe(NAN_BITS[dtype]);
    expect(decode(dtype, NAN_BITS[dtype])).toBeNaN();
  });

  it("f8e4m3 has no infinity: its topmost exponent holds numbers", () => {
    expect([0x78, 0x7e, 0xfe].map((bits) => decode("f8e4m3", bits))).toEqual([256, 448, -448]);
    expect(decode("f8e4m3", 0xff)).toBeNaN();
  });

  it("f32 passes through", () => {
    expect(decode("f32", 0x3f800001)).toBe(1 + 2 ** -23);
    expect([...encodeArray("f32", Float64Array.of(0.1, -0))]).toEqual([Math.fround(0.1), -0]);
    const source = Float32Array.of(1, 2);
    const copy = decodeArray("f32", source);
    expect(copy).toEqual(source);
    expect(copy).not.toBe(source);
  });

  it.each([-1, 0.5, 65536, Number.NaN])("refuses %d as bits of f16", (bits) => {
    expect(() => decode("f16", bits)).toThrow(MpError);
  });
});
