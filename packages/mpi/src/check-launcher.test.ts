import { failure } from "@mp/wheels/scratch";
import { expect, it } from "vitest";
import { checkLauncher } from "./check-launcher.js";

it("a rank that is alone although the launcher started more is of another MPI", async () => {
  for (const [name, value] of [
    ["PMI_SIZE", "2"],
    ["OMPI_COMM_WORLD_SIZE", "4"],
    ["SLURM_STEP_NUM_TASKS", "8"],
  ] as const) {
    const error = await failure(() => checkLauncher(1, "MPICH Version: 5.0.2", { [name]: value }));
    expect(error).toMatchObject({
      code: "MP_BACKEND_UNAVAILABLE",
      message: expect.stringContaining(`the launcher started ${value} processes (${name})`),
    });
    expect(() => checkLauncher(2, "MPICH", { [name]: value })).not.toThrow();
  }
  expect(() => checkLauncher(1, "MPICH", {})).not.toThrow();
  expect(() => checkLauncher(1, "MPICH", { PMI_SIZE: "1" })).not.toThrow();
});
