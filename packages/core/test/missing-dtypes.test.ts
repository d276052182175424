/** Optimizer state in a dtype that an engine lacks. */

import type { Backend, DType, Op } from "@mp/graph";
import { exactNumerics, type KernelTable, kernelBackend } from "@mp/graph/backend";
import { mul, reduceMean } from "@mp/graph/ops";
import { expect, it } from "vitest";
import { arithmetics } from "../../graph/src/reference/elements/arithmetic.js";
import { fromHost, toHost } from "../../graph/src/reference/elements/host.js";
import type { ReferenceKernel } from "../../graph/src/reference/elements/kernel.js";
import type { Store } from "../../graph/src/reference/elements/store.js";
import { referenceKernels } from "../../graph/src/reference/kernels.js";
import { runGraph } from "../../graph/src/reference/run-graph.js";
import { adamW } from "../src/optim/adam.js";
import { float32 } from "../src/precision/presets.js";
import { trainer } from "../src/train/trainer.js";
import { wave } from "./small-run.js";

/** The oracle with no other dtypes than these. */
function backendOf(...dtypes: readonly DType[]): Backend {
  const kernels = Object.entries(referenceKernels).map(([op, kernel]) => [
    op,
    (inputs: never, attributes: never, outputs: never) =>
      (kernel as ReferenceKernel<Op>)(inputs, attributes, outputs, arithmetics.exact, runGraph),
  ]);
  return kernelBackend<Store>({
    name: "narrow",
    manifest: {
      engine: { name: "narrow", version: "1" },
      device: "cpu",
      dtypes: Object.fromEntries(dtypes.map((dtype) => [dtype, { storage: dtype, compute: "native" }])),
      ...exactNumerics,
      tolerance: { default: { f32: 0, f16: 0, bf16: 0 } },
      eventLoop: "free",
    },
    kernels: Object.fromEntries(kernels) as KernelTable<Store>,
    upload: (tensor) => fromHost(tensor, arithmetics.exact),
    download: toHost,
  });
}

const run = (backend: Backend, states: "bf16" | "f16" | "f8e4m3" | "u8") =>
  trainer({
    backend,
    params: { w: wave([70, 60], 0.7) },
    loss: ({ w }) => reduceMean(mul(w, w)),
    optimizer: adamW({ learningRate: 0.01, states }),
    precision: float32(),
  });

it("is refused by name before the first step", async () => {
  for (const states of ["bf16", "f16", "f8e4m3", "u8"] as const) {
    await expect(run(backendOf("f32", "i32", "bool"), states), states).rejects.toMatchObject({
      code: "MP_UNSUPPORTED",
      message: expect.stringContaining(states) as string,
    });
  }
});

it("u8 needs no dtype of halves", async () => {
  const training = await run(backendOf("f32", "i32", "bool", "u8"), "u8");
  expect((await training.step({})).applied).toBe(true);
});
