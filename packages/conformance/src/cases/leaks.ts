/** Repeated use must not take more and more memory. */
import type { ConformanceCase } from "../conformance-case.js";
import { expectEqual } from "../expectations.js";
import { generate } from "../host-data.js";
import { doubling, f32 } from "../small-graphs.js";
import { scriptedCase, withExecutable } from "./kinds/scripted-case.js";

export const leakCases: readonly ConformanceCase[] = [
  scriptedCase("leak/runs/failed-and-profiled", doubling, async (backend) => {
    await withExecutable(backend, doubling, async (executable) => {
      await executable.run({ x: f32(1, 2, 3) });
      await executable.profile?.({ x: f32(1, 2, 3) });
      const before = backend.stats();
      for (let run = 0; run < 50; run++) {
        await executable.run({ x: f32(1, 2, 3) });
        await executable.run({ x: f32(1) }).catch(() => undefined);
        if (run % 10 === 0) await executable.profile?.({ x: f32(1, 2, 3) });
      }
      expectEqual(backend.stats(), before, "stats after 50 runs, as many failures and some profiles");
    });
  }),
  scriptedCase("leak/transfers/uploads-states-and-reads", doubling, async (backend) => {
    const before = backend.stats();
    for (let turn = 0; turn < 30; turn++) {
      const handle = await backend.upload(generate("f32", [100], () => turn));
      const state = await backend.createState({ a: f32(1, 2), b: f32(3) });
      await state.read();
      await state.write({ a: f32(3, 4) });
      await state.write({ a: f32(3) }).catch(() => undefined);
      await backend.download(handle);
      await state.dispose();
      handle.dispose();
    }
    expectEqual(backend.stats(), before, "stats after 30 uploads and states");
  }),
];
