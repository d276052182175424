import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { linkOrCopy, partialPath, publishFolder, sweepPartials, withdrawFolder } from "./publish.js";
import { removeScratch, scratch } from "./scratch.js";

afterEach(removeScratch);

describe("publishFolder", () => {
  it("shows nothing at the place before all of it is there", async () => {
    const final = join(scratch(), "made");
    await publishFolder(final, async (partial) => {
      writeFileSync(join(partial, "a"), "1");
      expect(existsSync(final)).toBe(false);
    });
    expect(readFileSync(join(final, "a"), "utf8")).toBe("1");
  });

  it("leaves nothing when the filling fails", async () => {
    const folder = scratch();
    const filling = publishFolder(join(folder, "made"), async () => {
      throw new Error("no more");
    });
    await expect(filling).rejects.toThrow("no more");
    expect(readdirSync(folder)).toEqual([]);
  });

  it("keeps what another process put there meanwhile", async () => {
    const folder = scratch();
    const final = join(folder, "made");
    await publishFolder(final, async (partial) => {
      writeFileSync(join(partial, "a"), "mine");
      mkdirSync(final);
      writeFileSync(join(final, "a"), "theirs");
    });
    expect(readFileSync(join(final, "a"), "utf8")).toBe("theirs");
    expect(readdirSync(folder)).toEqual(["made"]);
  });
});

describe("withdrawFolder", () => {
  it("takes a folder away, and is content where there is none", async () => {
    const folder = scratch();
    mkdirSync(join(folder, "old", "deep"), { recursive: true });
    await withdrawFolder(join(folder, "old"));
    await withdrawFolder(join(folder, "old"));
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("linkOrCopy", () => {
  it("does not replace a file, and says that it cannot", async () => {
    const folder = scratch();
    writeFileSync(join(folder, "a"), "a");
    writeFileSync(join(folder, "b"), "b");
    await expect(linkOrCopy(join(folder, "a"), join(folder, "b"))).rejects.toMatchObject({ code: "EEXIST" });
    expect(await linkOrCopy(join(folder, "a"), join(folder, "c"))).toBe("linked");
  });
});

describe("sweepPartials", () => {
  const days = (n: number) => new Date(Date.now() - n * 86_400_000);

  it("removes the work of the dead and old strangers, and nothing else", async () => {
    const folder = scratch();
    const mine = basename(partialPath(folder));
    const { pid: dead } = spawnSync(process.execPath, ["--version"]);
    const ofTheDead = mine.replace(`-${process.pid}-`, `-${dead}-`);
    const young = ".partial-elsewhere-17-1.node";
    const old = ".partial-elsewhere-17-2";
    for (const name of [mine, ofTheDead, young, old, "kept"]) writeFileSync(join(folder, name), "");
    utimesSync(join(folder, old), days(2), days(2));
    utimesSync(join(folder, "kept"), days(9), days(9));
    await sweepPartials(folder);
    expect(readdirSync(folder).sort()).toEqual([mine, young, "kept"].sort());
  });

  it("is content where the folder is not there", async () => {
    await sweepPartials(join(scratch(), "none"));
  });
});
