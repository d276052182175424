// The files of a model: its JSON, and the shards that the JSON names. The names are untrusted: each file must be in the
// folder of the JSON, after links are followed.
import { MpError } from "@mp/graph";
import { quote, refuseFile } from "../problem.js";
import { isKerasName, refuseKeras } from "./keras-file.js";

/** Limit for the JSON of a model; thousands of layers take a few megabytes. */
const MOST_JSON_BYTES = 2 ** 27;

/** @throws MP_IO with path and errno, MP_UNSUPPORTED for a Keras file, MP_PARSE for a file above 128 MiB */
export async function readText(path: string): Promise<string> {
  const { readFile } = await import("node:fs/promises");
  return onSystem(path, async () => {
    const size = await fileSize(path);
    if (isKerasName(path)) refuseKeras(path);
    if (size > MOST_JSON_BYTES)
      refuseFile(`${quote(path)} has ${size} bytes, which no model's JSON has`, { path });
    return new TextDecoder().decode(await readFile(path));
  });
}

/** A file of weights beside the model. */
export interface Shard {
  readonly path: string;
  readonly size: number;
}

/** Finds shards without opening them. @throws MP_IO; MP_PARSE for a path out of the folder, or a repeated one */
export async function findShards(modelPath: string, names: readonly string[]): Promise<readonly Shard[]> {
  const shards: Shard[] = [];
  const known = new Set<string>();
  for (const name of names) {
    if (known.has(name)) refuseFile(`the weights' path ${quote(name)} is named twice`, { shard: name });
    known.add(name);
    const path = await resolveShard(modelPath, name);
    shards.push({ path, size: await onSystem(path, () => fileSize(path)) });
  }
  return shards;
}

/** Reads shards into one array. @throws MP_IO, MP_PARSE, MP_OUT_OF_MEMORY */
export async function readShards(shards: readonly Shard[]): Promise<Uint8Array> {
  const { open } = await import("node:fs/promises");
  const all = allocate(shards.reduce((sum, { size }) => sum + size, 0));
  let at = 0;
  for (const { path, size } of shards) {
    await onSystem(path, async () => {
      const file = await open(path, "r");
      try {
        for (const end = at + size; at < end; ) {
          const { bytesRead } = await file.read(all, at, Math.min(end - at, MOST_READ_BYTES));
          if (bytesRead === 0) refuseFile(`${quote(path)} shrank while it was read`, { path });
          at += bytesRead;
        }
      } finally {
        await file.close();
      }
    });
  }
  return all;
}

/** Bytes per system call, which reads at most 2 GiB. */
const MOST_READ_BYTES = 2 ** 30;

function allocate(bytes: number): Uint8Array {
  try {
    return new Uint8Array(bytes);
  } catch (cause) {
    throw new MpError(
      "MP_OUT_OF_MEMORY",
      `fromTfjs: the weights take ${bytes} bytes, more than can be allocated at once`,
      { cause, details: { bytes } },
    );
  }
}

async function resolveShard(modelPath: string, shard: string): Promise<string> {
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
    refuseFile(`the weights' path ${quote(shard)} is no name of a file beside the model`, { shard });
  const folder = await onSystem(modelPath, () => realpath(dirname(modelPath)));
  const place = join(folder, ...steps);
  const found = await onSystem(place, () => realpath(place));
  if (found.startsWith(`${folder}${sep}`)) return found;
  return refuseFile(`the weights' path ${quote(shard)} is a link out of the model's folder`, { shard });
}

/** The size of a file. Refuses a pipe, because reading it might never end. */
async function fileSize(path: string): Promise<number> {
  const { stat } = await import("node:fs/promises");
  const found = await stat(path);
  if (found.isFile()) return found.size;
  throw Object.assign(new Error("no regular file"), { code: found.isDirectory() ? "EISDIR" : "ENOTREG" });
}

/** Returns the result of `read`, which reads the file at `path`. @throws MP_IO for a system error */
async function onSystem<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (MpError.is(cause)) throw cause;
    const { code = "" } = cause as NodeJS.ErrnoException;
    throw new MpError("MP_IO", `fromTfjs: cannot read ${quote(path)}: ${code}`, {
      cause,
      details: { path, errno: code },
    });
  }
}
