import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { MpError } from "@mp/core";
import { readWav, type Sound } from "../audio/read-wav.js";

/** A sound and its text, as indices of letters. */
export interface Transcribed {
  readonly sound: Sound;
  readonly text: readonly number[];
}

/**
 * A folder of WAV files, each with its words in a text file of the same name (`a.wav`, `a.txt`). Letters are the
 * characters that occur, in lower case.
 * @throws MP_IO for a folder without such pairs or a missing text, MP_PARSE as `readWav` or for different sample rates
 */
export async function readTranscribed(
  directory: string,
): Promise<{ readonly utterances: readonly Transcribed[]; readonly letters: readonly string[] }> {
  const all = await readdir(directory).catch((cause: NodeJS.ErrnoException) => {
    throw unreadable(directory, `cannot be read, ${cause.code ?? cause.message}`, cause);
  });
  const names = all.filter((name) => name.toLowerCase().endsWith(".wav")).sort();
  if (names.length < 2)
    throw unreadable(directory, "has fewer than two .wav files, each with a .txt beside it");
  const read: { readonly sound: Sound; readonly words: string }[] = [];
  for (const name of names) {
    const file = join(directory, `${name.slice(0, -4)}.txt`);
    const words = await readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
      throw unreadable(file, `is missing, the words of ${name}`, cause);
    });
    const sound = await readWav(join(directory, name));
    const rate = read[0]?.sound.sampleRate ?? sound.sampleRate;
    if (sound.sampleRate !== rate) {
      throw new MpError(
        "MP_PARSE",
        `${join(directory, name)}: has ${sound.sampleRate} samples a second, others have ${rate}; resample it`,
        { details: { path: join(directory, name) } },
      );
    }
    read.push({ sound, words: words.trim().toLowerCase().replace(/\s+/g, " ") });
  }
  const letters = [...new Set(read.flatMap(({ words }) => [...words]))].sort();
  const places = new Map(letters.map((letter, place) => [letter, place]));
  const utterances = read.map(({ sound, words }) => ({
    sound,
    text: [...words].map((letter) => places.get(letter) as number),
  }));
  return { utterances, letters };
}

function unreadable(path: string, message: string, cause?: unknown): MpError<"MP_IO"> {
  return new MpError("MP_IO", `${path}: ${message}`, {
    details: { path },
    ...(cause === undefined ? {} : { cause }),
  });
}
