import { readFile } from "node:fs/promises";
import { MpError } from "@mp/core";
import wavefile from "wavefile";
import { path as checkPath } from "../check-arguments.js";
import { MOST_BYTES } from "../data-size.js";
import { asMpError, sizeOfFile } from "../regular-file.js";

/** One channel of sound. */
export interface Sound {
  /** About -1 … 1. */
  readonly samples: Float32Array;
  /** Samples per second. */
  readonly sampleRate: number;
}

/**
 * Reads a WAV file of any bit depth, its channels mixed into one.
 * @throws MP_IO for a file that cannot be read, MP_PARSE for one that is no WAV file or has no samples
 */
export async function readWav(path: string): Promise<Sound> {
  checkPath("readWav: path", path);
  const size = await sizeOfFile(path);
  if (size > MOST_BYTES) throw unreadable(path, `has ${size} bytes, the most is ${MOST_BYTES}; split it`);
  const bytes = await readFile(path).catch((error: unknown) => {
    throw asMpError(path, error);
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
    throw unreadable(
      path,
      `is no WAV file that can be read: ${String((cause as Error).message ?? cause)}`,
      cause,
    );
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

function unreadable(path: string, message: string, cause?: unknown): MpError<"MP_PARSE"> {
  return new MpError("MP_PARSE", `${path}: ${message}`, {
    details: { path },
    ...(cause === undefined ? {} : { cause }),
  });
}
