import { adamW, type Backend, float32, key, mixedBfloat16, trainer } from "@mp/core";
import { characterNetwork, type NetworkSizes } from "../network.js";
import { readTexts, takeBatch } from "../text.js";

/** Steps of one precision before the other has its turn. */
const TURN = 3;

export interface SpeedSizes extends NetworkSizes {
  readonly batch: number;
}

/**
 * Times a step of a wide network in float32 and in mixed precision, in turns for the given time, and says what the
 * fastest of each took. Of an engine that does not compute bfloat16 natively on this machine it says that alone.
 */
export async function compareSpeed(backend: Backend, sizes: SpeedSizes, seconds: number): Promise<string> {
  const { bf16 } = backend.manifest.dtypes;
  if ("unsupported" in bf16 || bf16.compute !== "native")
    return `${backend.name} does not compute bfloat16 natively on this machine, so there is no speed-up to show.`;
  const { init, loss } = characterNetwork(sizes);
  const params = init(key(1));
  const { programs } = readTexts();
  const open = (precision: ReturnType<typeof float32>) =>
    trainer({
      backend,
      params,
      loss,
      optimizer: adamW({ learningRate: 5e-5 }),
      precision,
      onWarning: () => {},
    });
  await using inFloat32 = await open(float32());
  await using mixed = await open(mixedBfloat16());
  const sides = [inFloat32, mixed].map((training) => ({ training, times: [] as number[] }));
  const batch = takeBatch(programs, sizes.batch, 0);
  // The first step compiles.
  for (const { training } of sides) await training.step(batch);
  const end = performance.now() + 1000 * seconds;
  do {
    for (const { training, times } of sides)
      for (let step = 0; step < TURN; step++) {
        const start = performance.now();
        await training.step(batch);
        times.push(performance.now() - start);
      }
  } while (performance.now() < end);
  const [slow = 0, fast = 0] = sides.map(({ times }) => Math.min(...times));
  const times = `On ${backend.name}, a step of such a network with ${sizes.hidden} units takes ${slow.toFixed(1)} ms in float32 and ${fast.toFixed(1)} ms in mixed bfloat16 (the fastest of ${sides[0]?.times.length} steps each, in turns)`;
  return slow > fast
    ? `${times}: mixed precision is ${(slow / fast).toFixed(2)} times as fast.`
    : `${times}: this machine multiplies bfloat16, but no faster than float32.`;
}
