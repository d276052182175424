import { expect, it } from "vitest";
import { NO_TURNS, SerialTurns } from "./turns.js";

const later = <R>(value: R): Promise<R> => new Promise((resolve) => setTimeout(() => resolve(value), 1));

it("does at once what finds the device free, and the rest in order", async () => {
  const turns = new SerialTurns();
  const done: string[] = [];
  expect(turns.take(() => done.push("a"))).toBe(1);
  const first = turns.take(async () => {
    done.push("b begins");
    await later(0);
    done.push("b ends");
    return "b";
  });
  expect(turns.isFree).toBe(false);
  const second = turns.take(() => done.push("c"));
  const third = turns.take(async () => done.push("d"));
  expect(done).toEqual(["a", "b begins"]);
  expect(await Promise.all([first, second, third])).toEqual(["b", 4, 5]);
  expect(done).toEqual(["a", "b begins", "b ends", "c", "d"]);
  await later(0);
  expect(turns.isFree).toBe(true);
});

it("goes on after a failure", async () => {
  const turns = new SerialTurns();
  expect(() =>
    turns.take(() => {
      throw new Error("at once");
    }),
  ).toThrow("at once");
  expect(turns.isFree).toBe(true);
  const failing = turns.take(() => later(0).then(() => Promise.reject(new Error("in time"))));
  const next = turns.take(() => "next");
  await expect(failing).rejects.toThrow("in time");
  expect(await next).toBe("next");
});

it("is nothing for an engine that takes calls at any time", () => {
  expect(NO_TURNS.take(() => 1)).toBe(1);
  expect(NO_TURNS.isFree).toBe(true);
});
