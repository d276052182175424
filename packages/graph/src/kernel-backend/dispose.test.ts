import { expect, it } from "vitest";
import { exactNumerics } from "../backend/manifest.js";
import type { Backend } from "../contract/backend.js";
import { GraphBuilder } from "../graph/build/builder.js";
import type { HostTensor } from "../host/host-tensor.js";
import { tensor } from "../host/host-tensor.js";
import { kernelBackend } from "./kernel-backend.js";

/** A backend that uploads and downloads with a delay, and a record of its events. */
function slowBackend(): { readonly backend: Backend; readonly events: string[] } {
  const events: string[] = [];
  const later = async <R>(event: string, value: R): Promise<R> => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    events.push(event);
    return value;
  };
  const backend = kernelBackend<{ readonly held: HostTensor }>({
    name: "slow",
    manifest: {
      engine: { name: "slow", version: "1" },
      device: "cpu",
      dtypes: { f32: { storage: "f32", compute: "native" } },
      ...exactNumerics,
      tolerance: { default: { f32: 0, f16: 0, bf16: 0 } },
      eventLoop: "free",
    },
    kernels: { Neg: () => expect.fail("nothing is run") },
    upload: (held) => later("uploaded", { held }),
    download: ({ held }) => later("downloaded", held),
    release: () => void events.push("released"),
    close: () => void events.push("closed"),
  });
  return { backend, events };
}

const value = tensor(Float32Array.of(1, 2), [2]);

it.each<readonly [string, (backend: Backend) => Promise<unknown>]>([
  ["upload", (backend) => backend.upload(value)],
  ["createState", (backend) => backend.createState({ a: value, b: value })],
  [
    "compile",
    (backend) => {
      const builder = new GraphBuilder();
      const x = builder.emitOne("Constant", [], { value });
      return backend.compile(builder.finish({ y: builder.emitOne("Neg", [x], {}) }));
    },
  ],
])("closes after %s, which is under way, has ended and freed what it made", async (_name, call) => {
  const { backend, events } = slowBackend();
  const made = call(backend);
  const refused = expect(made).rejects.toMatchObject({ code: "MP_DISPOSED" });
  await backend.dispose();
  await refused;
  const count = (event: string): number => events.filter((each) => each === event).length;
  expect(count("uploaded")).toBeGreaterThan(0);
  expect(count("released")).toBe(count("uploaded"));
  expect(events.at(-1)).toBe("closed");
});

it("closes after a download that is under way, which gets its data", async () => {
  const { backend, events } = slowBackend();
  const reading = backend.download(await backend.upload(value));
  await backend.dispose();
  expect(events).toEqual(["uploaded", "downloaded", "released", "closed"]);
  expect(await reading).toEqual(value);
});
