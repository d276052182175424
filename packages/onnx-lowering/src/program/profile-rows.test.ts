import { expect, it } from "vitest";
import { profileRows } from "./profile-rows.js";

it("sums by node, the most expensive first", () => {
  const rows = profileRows([
    { node: "a", op: "Add", microseconds: 3 },
    { node: "b", op: "Mul", microseconds: 10 },
    { node: "a", op: "Add", microseconds: 4 },
  ]);
  expect(rows).toEqual([
    { node: "b", op: "Mul", microseconds: 10, calls: 1 },
    { node: "a", op: "Add", microseconds: 7, calls: 2 },
  ]);
});
