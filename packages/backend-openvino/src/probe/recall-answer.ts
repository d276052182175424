import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { extname, join } from "node:path";
import { cacheFolder } from "@mp/libopenvino";
import { digest } from "../native/digest.js";
import type { NativeRuntime } from "../native/index.js";
import { keepValue, readValue } from "./kept-value.js";

/**
 * Answers a question about the library on this processor from the user's cache, or finds the answer and keeps it
 * there.
 * @param question a name, with everything that the answer depends on besides the library, the processor and this code
 * @param find finds the answer; undefined means that there is none, and is not kept
 */
export async function recallAnswer<A>(
  { library, processor }: NativeRuntime,
  question: string,
  find: () => Promise<A>,
): Promise<A> {
  const probing = probingCode();
  if (probing === undefined) return find();
  // Sources and the code built from them would otherwise replace each other's answers.
  const name = digest(question, library.build, processor, probing.version, extname(import.meta.url));
  const path = join(cacheFolder(process.env), "findings", name.slice(0, 16));
  const of = digest(name, probing.code);
  const kept = readValue(path, of);
  if (kept !== undefined) return kept as A;
  const answer = await find();
  if (answer !== undefined) keepValue(path, of, answer);
  return answer;
}

/** Entry points of the probing code. They import shared files by names that change with the contents. */
const ENTRIES = ["@mp/graph/probe", "@mp/graph", "@mp/onnx-lowering", "@mp/onnx-lowering/probe"];

/** Version and digest of the probing code: only the same code reuses findings; undefined in a bundle. */
function probingCode(): { readonly version: string; readonly code: string } | undefined {
  const require = createRequire(import.meta.url);
  try {
    const files = ENTRIES.map((entry) => require.resolve(entry));
    const writer = createRequire(files.at(-1) as string).resolve("@mp/onnx/write");
    const { version } = require("@mp/onnx-lowering/package.json") as { version: string };
    return {
      version,
      code: digest(...[new URL(import.meta.url), ...files, writer].map((file) => readFileSync(file, "utf8"))),
    };
  } catch {
    return undefined;
  }
}
