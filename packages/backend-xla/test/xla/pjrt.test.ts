import { tensor } from "@mp/graph";
import { expect, it } from "vitest";
import { EXACT_FLAGS } from "../../src/flags.js";
import { openClient } from "../../src/library.js";
import { settle, settleAll } from "../../src/pjrt/index.js";
import { open, PLUGIN } from "./open.js";

const f32 = { dtype: "f32", shape: [2] } as const;

it("runs StableHLO, donates, and keeps a program as bytes", async () => {
  const client = await openClient(PLUGIN, 1);
  const end = (done: readonly bigint[]) => settleAll(done.map((event) => () => settle(client.plugin, event)));
  expect([client.platform, client.plugin.apiVersion]).toEqual(["cpu", expect.stringMatching(/^0\.\d+$/)]);
  const text = `module { func.func public @main(%a: tensor<2xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %a, %b : tensor<2xf32>
    return %0 : tensor<2xf32> } }`;
  const executable = await client.compile(text, EXACT_FLAGS, [f32]);
  const [a, b] = [
    [1, 2],
    [10, 20],
  ].map((numbers) => client.upload(tensor(Float32Array.from(numbers))));
  const { outputs, done } = executable.execute([a, b] as never);
  await end(done);
  expect(await outputs[0]?.download()).toMatchObject({ data: Float32Array.of(11, 22) });
  expect([a?.isDonated, b?.isDonated]).toEqual([true, false]);
  expect(() => executable.execute([a, b] as never)).toThrow(/deleted or donated/);
  const again = await client.load(executable.serialize(), [f32]);
  const second = again.execute([outputs[0], b] as never);
  await end(second.done);
  expect(await second.outputs[0]?.download()).toMatchObject({ data: Float32Array.of(21, 42) });
  client.close();
});

const NOTHING = "module { func.func public @main() { return } }";

it("gives the plugin's reason for a program that it does not take", async () => {
  const client = await openClient(PLUGIN, 1);
  await expect(client.compile("module { no }", EXACT_FLAGS, [])).rejects.toMatchObject({
    code: "MP_BACKEND_FAILED",
    message: expect.stringMatching(/Client_Compile: .+/),
  });
  await expect(client.compile(NOTHING, { no_such_flag: true }, [])).rejects.toThrow(/no_such_flag/);
  client.close();
});

it("refuses cuDNN's attention for another device", async () => {
  await expect(open({ flashAttention: true })).rejects.toMatchObject({
    code: "MP_INVALID_ARGUMENT",
    message: "xla: flashAttention is for one device of cuda, got 1 of cpu; leave it out",
  });
});
