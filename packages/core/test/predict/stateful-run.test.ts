import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { float32, mixed, type TrainingWarning, tensor } from "../../src/index.js";
import { StatefulRun, type StatefulRunOptions } from "../../src/predict/stateful-run.js";

const start = async (given: Pick<StatefulRunOptions, "precision" | "onWarning" | "backend">) =>
  StatefulRun.start({
    owner: "counter",
    params: { rate: tensor(Float32Array.of(2)) },
    state: { count: tensor(Float32Array.of(0)) },
    programs: 2,
    ...given,
  });

describe("a stateful run", () => {
  it("reports what its precision warns of, each once", async () => {
    const backend = await reference();
    const warned: string[] = [];
    const onWarning = ({ message }: TrainingWarning): unknown => warned.push(message);
    const first = { type: "performance", message: "first" } as const;
    const twice = { ...float32(), warnings: [first, { ...first, message: "second" }, first] };
    await (await start({ backend, precision: twice, onWarning })).dispose();
    expect(warned).toEqual(["first", "second"]);
    await (await start({ backend, precision: mixed(), onWarning })).dispose();
    expect(warned[2]).toMatch(/^mixed\(\): /);
  });

  it("leaves nothing on the engine if onWarning throws", async () => {
    const backend = await reference();
    const onWarning = (): never => {
      throw new Error("refused");
    };
    await expect(start({ backend, precision: mixed(), onWarning })).rejects.toThrow("refused");
    expect(backend.stats()).toMatchObject({ live: 0 });
  });
});
