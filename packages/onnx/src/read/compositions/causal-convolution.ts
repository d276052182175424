import type { Tensor } from "@mp/core";
import { cast, concat, conv, mul, pad, sigmoid, slice } from "@mp/core/ops";
import { quote } from "../../problem.js";
import type { ReadNode } from "../node/node-reader.js";
import { tracedAll } from "../node/traced.js";

const silu = (x: Tensor): Tensor => {
  const wide = cast(x, "f32");
  return cast(mul(wide, sigmoid(wide)), x.dtype);
};

/** x [batch, channels, time] by a kernel of its own for each channel, over what came before; and what comes before the next. */
export const causalConvolution: ReadNode = (reader) => {
  const activation = reader.string("activation", "none");
  if (activation !== "none" && activation !== "silu" && activation !== "swish")
    return reader.unsupported(`has the activation ${quote(activation)}`);
  const [x, weight] = [reader.operand(0), reader.operand(1)];
  const [bias, past] = [reader.optional(2), reader.optional(3)];
  const before = (weight.shape[2] ?? 1) - 1;
  const others = [...(bias === undefined ? [] : [bias]), ...(past === undefined ? [] : [past])];
  return tracedAll(
    reader,
    [x, weight, ...others],
    (now: Tensor, kernel: Tensor, ...rest: readonly Tensor[]) => {
      const earlier = past === undefined ? undefined : (rest.at(-1) as Tensor);
      const all =
        earlier === undefined
          ? pad(now, [
              [0, 0],
              [0, 0],
              [before, 0],
            ])
          : concat([earlier, now], 2);
      const added = bias === undefined ? {} : { bias: rest[0] as Tensor };
      const y = conv(all, kernel, { ...added, group: now.shape[1] ?? 1 });
      const length = all.shape[2] ?? 0;
      return [
        activation === "none" ? y : silu(y),
        slice(all, [{ axis: 2, start: length - before, end: length }]),
      ];
    },
  );
};
