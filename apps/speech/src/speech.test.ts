import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tensor } from "@mp/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decode, ErrorRate } from "./decode.js";
import { outputFrames } from "./model.js";
import { loadSpeech } from "./speech/load-speech.js";
import { LETTERS, utterance } from "./speech/tones.js";
import { readTranscribed } from "./speech/transcribed.js";

const generated = { data: undefined, mels: 40, noise: 0, trainUtterances: 6, testUtterances: 3 };

describe("generated speech", () => {
  it("is the same for the same index and another for another", () => {
    expect(utterance(1, 4, 0.3)).toEqual(utterance(1, 4, 0.3));
    expect(utterance(1, 5, 0.3).text).not.toEqual(utterance(1, 4, 0.3).text);
    expect(utterance(1, 4, 0.3).text.every((letter) => letter >= 0 && letter < LETTERS.length)).toBe(true);
  });

  it("is padded to one shape, with labels that leave 0 to the blank", async () => {
    const { train, test } = await loadSpeech(generated);
    expect(train.features.shape[0]).toBe(6);
    expect(train.features.shape.slice(1)).toEqual(test.features.shape.slice(1));
    const [, most = 0] = train.labels.shape;
    train.lengths.data.forEach((length, row) => {
      expect([...train.labels.data.subarray(row * most, row * most + length)]).toEqual(
        utterance(1, row, 0).text.map((letter) => letter + 1),
      );
    });
    const [, frames = 0, mels = 0] = train.features.shape;
    const own = (train.frames.data[0] as number) * mels;
    const first = train.features.data.subarray(0, own);
    expect(first.reduce((sum, x) => sum + x, 0) / own).toBeCloseTo(0, 4);
    expect([...train.features.data.subarray(own, frames * mels)].every((x) => x === 0)).toBe(true);
  });
});

describe("decoding", () => {
  it("leaves out repeats and blanks, and what is behind the utterance's end", () => {
    const paths = [
      [1, 1, 0, 1, 2, 2],
      [3, 0, 0, 0, 4, 4],
    ];
    const data = Int32Array.from({ length: 12 }, (_, at) => paths[at % 2]?.[at >> 1] ?? 0);
    expect(outputFrames(7)).toBe(4);
    expect(decode(tensor(data, [6, 2]), [12, 7])).toEqual([[1, 1, 2], [3]]);
  });

  it.each<readonly [readonly number[], readonly number[], number]>([
    [[1, 2, 3], [1, 2, 3], 0],
    [[1, 3], [1, 2, 3], 1 / 3],
    [[1, 2, 2, 3], [1, 2, 3], 1 / 3],
    [[4, 2, 3], [1, 2, 3], 1 / 3],
    [[], [1, 2], 1],
    [[2, 1], [1, 2], 1],
  ])("counts the edits from %j to %j", (written, truth, want) => {
    const rate = new ErrorRate();
    rate.add(written, truth);
    expect(rate.value).toBeCloseTo(want, 10);
  });
});

describe("files", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "mp-speech-"));
    for (const [name, words] of [
      ["a", "Ab  c\n"],
      ["b", "ba"],
    ] as const) {
      await writeFile(join(folder, `${name}.wav`), wav(800));
      await writeFile(join(folder, `${name}.txt`), words);
    }
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("are pairs of sound and words, whose characters are the letters", async () => {
    const { utterances, letters } = await readTranscribed(folder);
    expect(letters).toEqual([" ", "a", "b", "c"]);
    expect(utterances.map(({ text }) => text)).toEqual([
      [1, 2, 0, 3],
      [2, 1],
    ]);
    const { train, test } = await loadSpeech({ ...generated, data: folder });
    expect([train.features.shape[0], test.features.shape[0]]).toEqual([1, 1]);
  });

  it("name what is missing", async () => {
    await expect(readTranscribed(join(folder, "none"))).rejects.toMatchObject({ code: "MP_IO" });
    await writeFile(join(folder, "c.wav"), wav(800));
    await expect(readTranscribed(folder)).rejects.toThrow("c.txt: is missing, the words of c.wav");
  });
});

/** Makes a WAV file of silence in 16 bits, 8000 samples a second. */
function wav(samples: number): Buffer {
  const header = Buffer.alloc(44);
  header.write("RIFF", 0);
  header.writeUInt32LE(36 + 2 * samples, 4);
  header.write("WAVEfmt ", 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8000, 24);
  header.writeUInt32LE(16000, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write("data", 36);
  header.writeUInt32LE(2 * samples, 40);
  return Buffer.concat([header, Buffer.alloc(2 * samples)]);
}
