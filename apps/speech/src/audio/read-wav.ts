import { readFile } from "node:fs/promises";
import { MpError } from "@mp/core";
import wavefile from "wavefile";

/** One channel of sound. */
export interface Sound {
  /** Samples, about -1 … 1. */
  readonly samples: Float32Array;
  /** Samples per second. */
  readonly sampleRate: number;
}

/**
 * Reads a WAV file of any bit depth and averages its channels.
 * @throws MP_IO for a file that cannot be read, MP_PARSE for one that is not a WAV file or has no samples
 */
export async function readWav(path: string): Promise<Sound> {
  const bytes = await readFile(path).catch((cause: NodeJS.ErrnoException) => {
    throw new MpError("MP_IO", `${path}: cannot be read, ${cause.code}`, { details: { path }, cause });
  });
  let channels: readonly Float32Array[];
  let sampleRate: number;
  try {
    const wav = new wavefile.WaveFile(bytes);
    wav.toBitDepth("32f");
    ({ sampleRate } = wav.fmt as { readonly sampleRate: number });
    // One array where there is one channel.
    const samples = wav.getSamples(false, Float32Array) as unknown as Float32Array | readonly Float32Array[];
    channels = samples instanceof Float32Array ? [samples] : samples;
  } catch (cause) {
    throw unreadable(path, `is no WAV file that can be read: ${(cause as Error).message ?? cause}`, cause);
  }
  const [first] = channels;
  if (first === undefined || first.length === 0 || !(sampleRate > 0))
    throw unreadable(path, "holds no samples");
  const samples = Float32Array.from(first, (_, at) => {
    const sum = channels.reduce((total, channel) => total + (channel[at] ?? 0), 0);
    return sum / channels.length;
  });
  return { samples, sampleRate };
}

const unreadable = (path: string, problem: string, cause?: unknown): MpError<"MP_PARSE"> =>
  new MpError("MP_PARSE", `${path}: ${problem}`, { details: { path }, cause });
