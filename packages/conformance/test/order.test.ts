/** A case is the same whatever ran before it, on whichever backend, since files and cases run in any order. */
import { createHash } from "node:crypto";
import type { Backend, Graph } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { expect, it, vi } from "vitest";
import type { ConformanceCase } from "../src/conformance-case.js";
import { delegate } from "../src/delegate.js";
import { randomSource } from "../src/random-source.js";

const END = new Error("the graph has been seen");

/** Hash of the first graph that a case compiles, with its constants; of nothing for one that compiles none. */
async function firstGraph(subject: ConformanceCase, backend: Backend, seed: number): Promise<string> {
  const hash = createHash("sha256");
  const compile = (graph: Graph): Promise<never> => {
    hash.update(
      JSON.stringify(graph, (_, value) =>
        typeof value === "bigint"
          ? `${value}n`
          : ArrayBuffer.isView(value)
            ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64")
            : value,
      ),
    );
    return Promise.reject(END);
  };
  const recorder = delegate(backend, { compile, dispose: () => Promise.resolve() });
  const context = {
    id: subject.id,
    seed,
    create: async () => recorder,
    random: randomSource(seed, subject.id),
  };
  try {
    if ((await subject.unsupported(backend.manifest)) === undefined) await subject.run(recorder, context);
    else await subject.refuses(recorder, context);
  } catch {
    // What is compared is the graph; a case that needs results fails here.
  }
  return hash.digest("hex");
}

/** Freshly loaded modules, which have kept nothing; all that choose samples, and a fifth of the others. */
async function load(): Promise<readonly ConformanceCase[]> {
  vi.resetModules();
  const { chooseCases } = await import("../src/suite/chosen-cases.js");
  return chooseCases({}).filter(({ id }, at) => id.startsWith("form/") || at % 5 === 0);
}

it("a case compiles the same graph whatever ran before", async () => {
  const backend = await reference();
  const f16 = { unsupported: "f16 is left out" };
  const narrow = delegate(backend, {
    manifest: { ...backend.manifest, dtypes: { ...backend.manifest.dtypes, f16 } },
  });
  const wanted = new Map<string, string>();
  for (const one of await load()) wanted.set(one.id, await firstGraph(one, backend, 1));
  const used = (await load()).toReversed();
  for (const one of used) await firstGraph(one, narrow, 2);
  const other: string[] = [];
  for (const one of used) if ((await firstGraph(one, backend, 1)) !== wanted.get(one.id)) other.push(one.id);
  expect(other).toEqual([]);
});
