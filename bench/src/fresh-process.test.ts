import { describe, expect, it } from "vitest";
import { askProcess } from "./fresh-process.js";

const node = (program: string) => askProcess(process.execPath, ["-e", program]);

describe("askProcess", () => {
  it("reads the answer behind whatever was logged", async () => {
    const program = 'console.log("{ not json"); console.log(JSON.stringify({ a: 1 })); console.log("done")';
    expect(await node(program)).toEqual({ a: 1 });
  });

  it("throws what the process says it could not do", async () => {
    const program = 'console.log(JSON.stringify({ error: "no torch here" })); process.exitCode = 1';
    await expect(node(program)).rejects.toThrow("no torch here");
  });

  it("throws when there is no answer or no program", async () => {
    await expect(node("process.exitCode = 3")).rejects.toThrow("ended with exit code 3 and no answer");
    await expect(askProcess("/no/such/program", [])).rejects.toThrow("/no/such/program");
  });
});
