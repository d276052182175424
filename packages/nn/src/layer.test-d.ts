import {
  adamW,
  type Backend,
  type HostTensor,
  key,
  mixed,
  type Tensor,
  type Traced,
  tensor,
  trainer,
} from "@mp/core";
import { relu } from "@mp/core/ops";
import { describe, expectTypeOf, it } from "vitest";
import {
  batchNorm,
  dense,
  dropout,
  embedding,
  type Layer,
  lstm,
  type Nothing,
  sequential,
  softmaxCrossEntropy,
} from "./index.js";

declare const backend: Backend;
declare const x: HostTensor<"f32">;
declare const y: HostTensor<"i32">;

describe("the README's program", () => {
  it("has the types it looks like, without an annotation", async () => {
    const model = sequential(dense(2, 32), relu, dense(32, 2));
    const training = await trainer({
      backend,
      params: model.init(key(42)),
      loss: (params, { x, y }, context) => softmaxCrossEntropy(model.apply(params, x, context), y),
      optimizer: adamW({ learningRate: 1e-2 }),
      precision: mixed(),
    });
    const { loss, applied, scale } = await training.step({ x, y });
    expectTypeOf({ loss, applied, scale }).toEqualTypeOf<{ loss: number; applied: boolean; scale: number }>();
    const [first, second, third] = await training.parameters();
    expectTypeOf(first.kernel).toEqualTypeOf<HostTensor<"f32">>();
    expectTypeOf(second).toEqualTypeOf<Nothing>();
    expectTypeOf(third.bias).toEqualTypeOf<HostTensor<"f32">>();
    const { logits } = await training.predict(
      (params, { x }: { x: Tensor }) => ({ logits: model.apply(params, x) }),
      {
        x: tensor(Float32Array.of(1, 2), [1, 2]),
      },
    );
    expectTypeOf(logits).toEqualTypeOf<HostTensor>();
  });
});

describe("sequential", () => {
  it("takes masks of its parts by their places, as the guide writes them", async () => {
    const model = sequential(dense(2, 8), relu, sequential(dense(8, 8), relu), dense(8, 2));
    const optimizer = adamW({ learningRate: 1e-2 });
    const common = { backend, params: model.init(key(1)) };
    const loss = (params: Traced<typeof common.params>, { x, y }: { x: Tensor; y: Tensor }) =>
      softmaxCrossEntropy(model.apply(params, x), y);
    await trainer({ ...common, loss, optimizer, frozen: { 0: true } });
    await trainer({ ...common, loss, optimizer, frozen: { 0: { kernel: true }, 2: { 0: true } } });
    await trainer({ ...common, loss, optimizer, frozen: [true, false, [{ bias: true }]] });
    // @ts-expect-error there is no fifth part
    await trainer({ ...common, loss, optimizer, frozen: { 4: true } });
    // @ts-expect-error a dense layer has no such parameter
    await trainer({ ...common, loss, optimizer, frozen: { 0: { weight: true } } });
    const head = { loss, optimizer, params: { 3: true } };
    await trainer({ ...common, objectives: { head, rest: { ...head, params: { 0: { bias: true } } } } });
    const inside = { body: model.init(key(1)) };
    const ofBody = ({ body }: Traced<typeof inside>, batch: { x: Tensor; y: Tensor }) => loss(body, batch);
    await trainer({ ...common, params: inside, loss: ofBody, optimizer, frozen: { body: { 0: true } } });
  });

  it("has the parameters of its parts, in place", () => {
    const model = sequential(embedding(5, 3), dropout(0.1), (t) => relu(t));
    expectTypeOf(model).toExtend<Layer<readonly [{ readonly table: HostTensor<"f32"> }, Nothing, Nothing]>>();
    const normalized = sequential(dense(2, 3), sequential(batchNorm(3), relu));
    type Statistics = { readonly mean: HostTensor<"f32">; readonly variance: HostTensor<"f32"> };
    expectTypeOf(normalized.initState()).toEqualTypeOf<readonly [Nothing, readonly [Statistics, Nothing]]>();
    // @ts-expect-error with statistics it returns its state too
    normalized satisfies Layer<unknown>;
    // @ts-expect-error an LSTM takes more than a tensor
    sequential(lstm(2, 2));
    // @ts-expect-error no layer
    sequential(3);
  });
});
