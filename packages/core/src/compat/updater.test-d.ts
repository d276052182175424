import { type Tensor, tensor } from "@mp/graph";
import { mul, reduceSum } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { expectTypeOf, it } from "vitest";
import { sgd } from "../optim/sgd.js";
import { updater } from "./updater.js";

const vector = tensor(Float32Array.of(1, 2));
const backend = await reference();
const basics = { backend, solver: sgd({ learningRate: 1 }), params: { w: vector } };

it("takes the data that the loss asks for, or any named tensors where it does not say", () => {
  const any = updater({
    ...basics,
    loss: ({ w }, { x }) => reduceSum(mul(w, x)),
    dataFeeder: () => ({ x: vector }),
  });
  expectTypeOf(any).resolves.toHaveProperty("update");
  const loss = ({ w }: { readonly w: Tensor }, { ids }: { readonly ids: Tensor }) => reduceSum(mul(w, ids));
  void updater({ ...basics, loss, dataFeeder: async () => ({ ids: vector }) });
  // @ts-expect-error the loss asks for ids
  void updater({ ...basics, loss, dataFeeder: () => ({ x: vector }) });
});
