import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import wavefile from "wavefile";
import { logMel } from "./log-mel.js";
import { readWav } from "./read-wav.js";

const RATE = 8000;
const sine = (frequency: number, amplitude = 0.5, length = 1600): Float32Array =>
  Float32Array.from({ length }, (_, at) => amplitude * Math.sin((2 * Math.PI * frequency * at) / RATE));

describe("readWav", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "mp-wav-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const written = async (name: string, bytes: Uint8Array): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, bytes);
    return path;
  };
  const LARGEST = { "8": 128, "16": 2 ** 15, "24": 2 ** 23, "32f": 1 } as const;
  type Depth = keyof typeof LARGEST;
  const wavOf = (depth: Depth, channels: readonly Float32Array[]): Uint8Array => {
    const stored = channels.map((channel) =>
      Array.from(channel, (x) => {
        if (depth === "32f") return x;
        return Math.round(x * LARGEST[depth]) + (depth === "8" ? 128 : 0);
      }),
    );
    const wav = new wavefile.WaveFile();
    wav.fromScratch(channels.length, RATE, depth, stored.length === 1 ? (stored[0] ?? []) : stored);
    return wav.toBuffer();
  };

  it.each([
    ["8", 1 / 100],
    ["16", 1 / 20_000],
    ["24", 2e-7],
    ["32f", 0],
  ] as const)("reads %s bits", async (depth, most) => {
    const path = await written(`${depth}.wav`, wavOf(depth, [sine(440)]));
    const { samples, sampleRate } = await readWav(path);
    expect(sampleRate).toBe(RATE);
    const worst = sine(440).reduce((error, x, at) => Math.max(error, Math.abs(x - (samples[at] ?? 9))), 0);
    expect(worst).toBeLessThanOrEqual(most);
  });

  it("mixes channels into one", async () => {
    const path = await written("stereo.wav", wavOf("32f", [sine(440), sine(440, 0.1)]));
    const { samples } = await readWav(path);
    expect(samples).toHaveLength(1600);
    expect(samples[100]).toBeCloseTo(0.3 * Math.sin((2 * Math.PI * 440 * 100) / RATE), 5);
  });

  it("names a file that is none, is cut off, or has no samples", async () => {
    await expect(readWav(join(folder, "missing.wav"))).rejects.toMatchObject({ code: "MP_IO" });
    const text = await written("text.wav", new TextEncoder().encode("no sound at all"));
    await expect(readWav(text)).rejects.toMatchObject({
      code: "MP_PARSE",
      message: expect.stringContaining(text),
    });
    const empty = await written("empty.wav", wavOf("16", [new Float32Array(0)]));
    await expect(readWav(empty)).rejects.toMatchObject({ code: "MP_PARSE" });
  });
});

describe("logMel", () => {
  const loudest = (frequency: number): number => {
    const { data, shape } = logMel({ samples: sine(frequency), sampleRate: RATE }, 40);
    const own = [...data.subarray(5 * (shape[1] ?? 0), 6 * (shape[1] ?? 0))];
    return own.indexOf(Math.max(...own));
  };

  it("has a frame every hop and finds a tone in the filter around it", () => {
    const { shape } = logMel({ samples: sine(1000), sampleRate: RATE }, 40);
    // (1600 - 200) / 80 + 1
    expect(shape).toEqual([18, 40]);
    const mel = (frequency: number): number => 2595 * Math.log10(1 + frequency / 700);
    for (const frequency of [300, 1000, 3000]) {
      expect(Math.abs(loudest(frequency) + 1 - (41 * mel(frequency)) / mel(RATE / 2))).toBeLessThan(1.2);
    }
  });

  it("grows by the logarithm of the energy, and silence has a floor", () => {
    const at = (amplitude: number): number =>
      Math.max(...logMel({ samples: sine(1000, amplitude), sampleRate: RATE }, 40).data);
    expect(at(0.5) - at(0.05)).toBeCloseTo(2 * Math.log(10), 3);
    expect(at(0)).toBeCloseTo(Math.log(1e-10), 4);
  });

  it("refuses a sound shorter than a frame", () => {
    const short = { samples: new Float32Array(100), sampleRate: RATE };
    expect(() => logMel(short, 40)).toThrow("a frame has 200 samples, the sound has 100");
  });
});
