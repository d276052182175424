import { expectTypeOf, it } from "vitest";
import type { Backend, HostTensor, Tensor } from "../../src/index.js";
import { ops, predictor, tensor } from "../../src/index.js";

declare const backend: Backend;
const params = { kernel: tensor(Float32Array.of(1), [1, 1]) };
const x = tensor(Float32Array.of(1), [1, 1]);

it("gives the data's and the result's types of a function", async () => {
  const serving = await predictor({
    backend,
    params,
    model: ({ kernel }, { x }: { readonly x: Tensor }) => ({ y: ops.matMul(x, kernel) }),
  });
  expectTypeOf(await serving.predict({ x })).toEqualTypeOf<{ readonly y: HostTensor }>();
  // @ts-expect-error: the data is by name
  await serving.predict(x);
});

it("gives those of layers", async () => {
  const layer = {
    apply: ({ kernel }: { readonly kernel: Tensor }, x: Tensor) => ops.matMul(x, kernel),
  };
  const plain = await predictor({ backend, params, model: layer });
  expectTypeOf(await plain.predict(x)).toEqualTypeOf<HostTensor>();
  const stateful = {
    initState: () => ({ mean: x }),
    apply: (
      { kernel }: { readonly kernel: Tensor },
      x: Tensor,
      { modelState }: { readonly modelState: { readonly mean: Tensor } },
    ) => [ops.matMul(x, kernel), modelState] as const,
  };
  const served = await predictor({ backend, params, modelState: { mean: x }, model: stateful });
  expectTypeOf(await served.predict(x)).toEqualTypeOf<HostTensor>();
  // @ts-expect-error: the layer reads another parameter
  await predictor({ backend, params: { weight: x }, model: layer });
});
