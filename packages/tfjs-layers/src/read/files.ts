// The files of a model: its JSON, and the shards that this names. Names are data of strangers: each file lies in the
// JSON's folder, also after its links are followed.
import { MpError } from "@mp/core";
import { malformed, quote } from "../problem.js";

/** @throws MP_IO naming the path and the errno */
export async function readText(path: string): Promise<string> {
  return new TextDecoder().decode(await readBytes(path));
}

/** The bytes of several files in a row. @throws MP_IO, MP_PARSE for a path that leads out of the folder */
export async function readShards(modelPath: string, shards: readonly string[]): Promise<Uint8Array> {
  const parts = await Promise.all(shards.map(async (shard) => readBytes(await placeOf(modelPath, shard))));
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

async function placeOf(modelPath: string, shard: string): Promise<string> {
  const [{ realpath }, { dirname, join, sep }] = await Promise.all([
    import("node:fs/promises"),
    import("node:path"),
  ]);
  // `save("downloads://…")` of TensorFlow.js writes "./model.weights.bin".
  const steps = shard.replace(/^\.\//, "").split("/");
  if (
    shard === "" ||
    /[\\\0:]/.test(shard) ||
    steps.some((step) => step === "" || step === ".." || step === ".")
  )
    malformed(`the weights' path ${quote(shard)} is no name of a file beside the model`, { shard });
  const folder = await reading(modelPath, () => realpath(dirname(modelPath)));
  const place = join(folder, ...steps);
  const found = await reading(place, () => realpath(place));
  if (found.startsWith(`${folder}${sep}`)) return found;
  return malformed(`the weights' path ${quote(shard)} is a link out of the model's folder`, { shard });
}

async function readBytes(path: string): Promise<Uint8Array> {
  const { readFile, stat } = await import("node:fs/promises");
  return reading(path, async () => {
    // A pipe would be waited for without end.
    const found = await stat(path);
    if (!found.isFile())
      throw Object.assign(new Error("no regular file"), { code: found.isDirectory() ? "EISDIR" : "ENOTREG" });
    return new Uint8Array(await readFile(path));
  });
}

async function reading<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    throw new MpError("MP_IO", `fromTfjs: cannot read ${quote(path)}: ${code}`, {
      cause,
      details: { path, errno: code },
    });
  }
}
