/**
 * Generated speech: each letter is a pair of tones, as on a telephone's keys, of its own length, loudness and slightly wrong pitch, in
 * noise. Utterances are sequences of letters, each unlike the one before half of the time.
 */
import { type RandomStream, randomStream } from "@mp/data";
import type { Sound } from "../audio/read-wav.js";

const SAMPLE_RATE = 8000;
const LOW = [697, 770, 852, 941];
const HIGH = [1209, 1336, 1477, 1633];
/** One letter for each pair of tones. */
export const LETTERS: readonly string[] = Array.from({ length: 16 }, (_, at) => String.fromCharCode(97 + at));

export interface Utterance {
  readonly sound: Sound;
  /** Indices of letters. */
  readonly text: readonly number[];
}

const FEWEST = 3;
const MOST = 8;

/** The utterance of that index, the same on every machine. */
export function utterance(seed: number, index: number, noise: number): Utterance {
  const stream = randomStream(seed, index);
  const text = Array.from({ length: FEWEST + stream.integer(MOST - FEWEST + 1) }, () =>
    stream.integer(LETTERS.length),
  );
  const parts = [silence(stream), ...text.flatMap((letter) => [tone(stream, letter), silence(stream)])];
  const clean = parts.flat();
  return {
    text,
    sound: {
      sampleRate: SAMPLE_RATE,
      samples: Float32Array.from(clean, (x) => x + noise * stream.normal()),
    },
  };
}

const samplesIn = (seconds: number): number => Math.round(seconds * SAMPLE_RATE);

function silence(stream: RandomStream): number[] {
  return new Array<number>(samplesIn(0.01 + 0.04 * stream.uniform())).fill(0);
}

function tone(stream: RandomStream, letter: number): number[] {
  const length = samplesIn(0.05 + 0.07 * stream.uniform());
  const loudness = 0.25 + 0.5 * stream.uniform();
  const pitch = 1 + 0.015 * stream.normal();
  const frequencies = [LOW[letter >> 2] as number, HIGH[letter & 3] as number].map((one) => one * pitch);
  const phases = frequencies.map(() => 2 * Math.PI * stream.uniform());
  return Array.from({ length }, (_, at) => {
    const time = (2 * Math.PI * at) / SAMPLE_RATE;
    const fade = Math.min(1, at / 80, (length - at) / 80);
    return (
      fade *
      loudness *
      frequencies.reduce((sum, f, which) => sum + Math.sin(f * time + (phases[which] ?? 0)), 0)
    );
  });
}
