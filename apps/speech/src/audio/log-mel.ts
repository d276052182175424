import { type HostTensor, MpError, tensor } from "@mp/core";
import { fft } from "fourier-transform";
import type { Sound } from "./read-wav.js";

/** Length of a frame and distance between frames, in seconds. */
const [WINDOW, HOP] = [0.025, 0.01];

/** Smallest energy of a filter, used for silence. */
const SILENCE = 1e-10;

/**
 * Log-mel features of a sound, f32 [frames, mels]: the logarithm of the energy in triangular filters (O'Shaughnessy's
 * mel scale, 2595 · log10(1 + f / 700)) of the spectrum of each frame under a Hann window.
 * @throws MP_INVALID_ARGUMENT for a sound shorter than one frame
 */
export function logMel({ samples, sampleRate }: Sound, mels: number): HostTensor<"f32"> {
  const length = Math.round(WINDOW * sampleRate);
  const step = Math.max(1, Math.round(HOP * sampleRate));
  const frames = Math.floor((samples.length - length) / step) + 1;
  if (frames < 1 || length < 2) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `logMel: a frame has ${length} samples, the sound has ${samples.length}; take a longer one`,
    );
  }
  const size = 2 ** Math.ceil(Math.log2(length));
  const hann = Float64Array.from({ length }, (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / length));
  const filters = melFilters(mels, size, sampleRate);
  const features = new Float32Array(frames * mels);
  const frame = new Float64Array(size);
  for (let index = 0; index < frames; index++) {
    for (let at = 0; at < length; at++)
      frame[at] = (samples[index * step + at] as number) * (hann[at] as number);
    const [re, im] = fft(frame);
    filters.forEach(({ first, weights }, mel) => {
      let energy = 0;
      for (let at = 0; at < weights.length; at++) {
        const bin = first + at;
        energy += (weights[at] as number) * ((re[bin] as number) ** 2 + (im[bin] as number) ** 2);
      }
      features[index * mels + mel] = Math.log(Math.max(energy, SILENCE));
    });
  }
  return tensor(features, [frames, mels]);
}

interface Filter {
  /** The first bin that the filter reads. */
  readonly first: number;
  readonly weights: readonly number[];
}

const frequencyToMel = (frequency: number): number => 2595 * Math.log10(1 + frequency / 700);
const melToFrequency = (mel: number): number => 700 * (10 ** (mel / 2595) - 1);

/** Triangular filters. Each filter rises from the center of the filter before, and falls to the center of the next. */
function melFilters(mels: number, size: number, sampleRate: number): readonly Filter[] {
  const binOf = (place: number): number =>
    (melToFrequency((place * frequencyToMel(sampleRate / 2)) / (mels + 1)) * size) / sampleRate;
  return Array.from({ length: mels }, (_, mel) => {
    const [low, center, high] = [binOf(mel), binOf(mel + 1), binOf(mel + 2)];
    const first = Math.max(0, Math.ceil(low));
    const last = Math.min(size / 2 - 1, Math.floor(high));
    const weights = Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => {
      const bin = first + at;
      return Math.max(0, Math.min((bin - low) / (center - low), (high - bin) / (high - center)));
    });
    if (weights.some((weight) => weight > 0)) return { first, weights };
    // A triangle between two bins reads the nearest bin.
    return { first: Math.min(size / 2 - 1, Math.round(center)), weights: [1] };
  });
}
