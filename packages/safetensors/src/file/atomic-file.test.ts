import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SafetensorsError } from "../errors.js";
import { writeFileAtomically, writeFileAtomicallyOn } from "./atomic-file.js";
import type { FileSystem, Located, WritableFile } from "./file-system.js";
import { isStale, temporaryName } from "./temporary-name.js";

const bytes = (text: string) => new TextEncoder().encode(text);
const chunks = [bytes("new con"), bytes(""), bytes("tent")];
const TARGET = "/data/model";

interface Inode {
  content: string;
  durable: string;
  mode: number;
}

/**
 * A disk that loses unsynced data when the power fails. It writes at most 4 bytes per call, may fail one
 * call, and may lose power before one call.
 */
class Disk implements FileSystem {
  readonly calls: string[] = [];
  entries = new Map<string, Inode>([[TARGET, { content: "old", durable: "old", mode: 0o640 }]]);
  durableEntries: ReadonlyMap<string, Inode> = new Map(this.entries);
  failures: Readonly<Record<string, string>> = {};
  powerCutAt = Number.POSITIVE_INFINITY;
  ignoresSync = false;

  #call(name: string): void {
    if (this.calls.length >= this.powerCutAt) throw new Error("no power");
    this.calls.push(name);
    const errno = this.failures[name];
    if (errno !== undefined) throw Object.assign(new Error(`${errno}: ${name}`), { code: errno });
  }

  async create(path: string): Promise<WritableFile> {
    this.#call("create");
    const inode: Inode = { content: "", durable: "", mode: 0o644 };
    this.entries.set(path, inode);
    return {
      write: async (data) => {
        this.#call("write");
        inode.content += new TextDecoder().decode(data.subarray(0, 4));
        return { bytesWritten: Math.min(4, data.length) };
      },
      chmod: async (mode) => {
        this.#call("chmod");
        inode.mode = mode;
      },
      sync: async () => {
        this.#call("sync");
        if (!this.ignoresSync) inode.durable = inode.content;
      },
      close: async () => this.#call("close"),
    };
  }

  async rename(from: string, to: string): Promise<void> {
    this.#call("rename");
    const inode = this.entries.get(from);
    if (inode === undefined) throw new Error(`nothing at ${from}`);
    this.entries.delete(from);
    this.entries.set(to, inode);
  }

  async unlink(path: string): Promise<void> {
    this.#call("unlink");
    this.entries.delete(path);
  }

  async list(): Promise<readonly string[]> {
    this.#call("list");
    return [...this.entries.keys()].map((path) => path.slice("/data/".length));
  }

  async syncDirectory(): Promise<void> {
    this.#call("syncDirectory");
    this.durableEntries = new Map(this.entries);
  }

  async locate(path: string): Promise<Located | undefined> {
    this.#call("locate");
    const inode = this.entries.get(path);
    return inode && { path, mode: inode.mode };
  }

  /** Everything that the target may hold after the power comes back: the system may have written any part early. */
  afterPowerCut(): Set<string | undefined> {
    const found = new Set<string | undefined>();
    for (const entries of [this.entries, this.durableEntries]) {
      found.add(entries.get(TARGET)?.content).add(entries.get(TARGET)?.durable);
    }
    return found;
  }
}

async function failureOf(promise: Promise<void>): Promise<unknown> {
  return promise.then(
    () => expect.fail("did not fail"),
    (error: unknown) => error,
  );
}

describe("on a disk that loses power", () => {
  const run = async (powerCutAt: number, ignoresSync = false) => {
    const disk = new Disk();
    disk.powerCutAt = powerCutAt;
    disk.ignoresSync = ignoresSync;
    const done = await writeFileAtomicallyOn(disk, TARGET, chunks).then(
      () => true,
      () => false,
    );
    return { disk, done, found: disk.afterPowerCut() };
  };

  it("the file is the old or the new one, whole, wherever it happens", async () => {
    const { disk, found: final } = await run(Number.POSITIVE_INFINITY);
    expect(final).toEqual(new Set(["new content"]));
    expect(disk.calls.length).toBeGreaterThan(8);
    const seen = new Set<string | undefined>();
    for (let at = 0; at < disk.calls.length; at++) {
      const { found, done } = await run(at);
      expect(done).toBe(false);
      for (const content of found) seen.add(content);
    }
    expect(seen).toEqual(new Set(["old", "new content"]));
  });

  it("and a disk whose fsync does nothing is caught, so the model can fail", async () => {
    const { found } = await run(Number.POSITIVE_INFINITY, true);
    expect(found).toContain("");
  });
});

describe("on a disk that fails", () => {
  const before = ["locate", "create", "chmod", "write", "sync", "close", "rename"];

  it.each(before.flatMap((call) => ["ENOSPC", "EACCES", "EIO"].map((errno) => [call, errno] as const)))(
    "%s with %s: a typed error, the old file, nothing left behind",
    async (call, errno) => {
      const disk = new Disk();
      disk.failures = { [call]: errno };
      const error = await failureOf(writeFileAtomicallyOn(disk, TARGET, chunks));
      if (!SafetensorsError.is(error, "SAFETENSORS_IO")) return expect.fail(`threw ${error}`);
      expect(error.message).toMatch(new RegExp(`^writing /data/model failed with ${errno}: .{10}`));
      expect(error.details).toEqual({ path: TARGET, errno, committed: false });
      expect(error.cause).toMatchObject({ code: errno });
      expect([...disk.entries.keys()]).toEqual([TARGET]);
      expect(disk.entries.get(TARGET)?.content).toBe("old");
    },
  );

  it("while the directory is synced: says that the new file is in place", async () => {
    const disk = new Disk();
    disk.failures = { syncDirectory: "EIO" };
    const error = await failureOf(writeFileAtomicallyOn(disk, TARGET, chunks));
    expect(error).toMatchObject({ code: "SAFETENSORS_IO", details: { errno: "EIO", committed: true } });
    expect(disk.entries.get(TARGET)?.content).toBe("new content");
  });

  it("and fails again while it cleans up: the first failure is reported", async () => {
    const disk = new Disk();
    disk.failures = { write: "ENOSPC", unlink: "EIO", close: "EIO" };
    expect(await failureOf(writeFileAtomicallyOn(disk, TARGET, chunks))).toMatchObject({
      details: { errno: "ENOSPC" },
    });
    expect(disk.entries.size).toBe(2);
  });

  it("to list its directory: the save does not depend on it", async () => {
    const disk = new Disk();
    disk.failures = { list: "EACCES" };
    await writeFileAtomicallyOn(disk, TARGET, chunks);
    expect(disk.entries.get(TARGET)).toMatchObject({ content: "new content", mode: 0o640 });
  });

  it("the chunks' own error passes through, and an error without errno too", async () => {
    const disk = new Disk();
    const broken = function* (): Generator<Uint8Array> {
      yield bytes("abc");
      throw new RangeError("mine");
    };
    await expect(writeFileAtomicallyOn(disk, TARGET, broken())).rejects.toThrow(RangeError);
    expect([...disk.entries]).toMatchObject([[TARGET, { content: "old" }]]);
  });

  it("to take any bytes: ends with an error instead of a loop", async () => {
    const disk = new Disk();
    const stuck: FileSystem = {
      create: async (path) => ({ ...(await disk.create(path)), write: async () => ({ bytesWritten: 0 }) }),
      rename: (from, to) => disk.rename(from, to),
      unlink: (path) => disk.unlink(path),
      list: () => disk.list(),
      syncDirectory: () => disk.syncDirectory(),
      locate: (path) => disk.locate(path),
    };
    await expect(writeFileAtomicallyOn(stuck, TARGET, chunks)).rejects.toThrow(/no progress/);
  });
});

describe("on this machine", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "mp-atomic-"));
  });
  afterEach(() => rm(directory, { recursive: true }));

  it("makes a file, then replaces it, through a link and under its permissions", async () => {
    const path = join(directory, "model");
    await writeFileAtomically(path, chunks);
    expect(await readFile(path, "utf8")).toBe("new content");
    await rm(path);
    await writeFile(path, "old", { mode: 0o600 });
    await symlink("model", join(directory, "latest"));
    await writeFileAtomically(join(directory, "latest"), chunks);
    expect(await readFile(path, "utf8")).toBe("new content");
    if (process.platform !== "win32") expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await readdir(directory)).sort()).toEqual(["latest", "model"]);
  });

  it("goes through links to where no file is yet, and keeps them", async () => {
    await symlink("model", join(directory, "latest"));
    await mkdir(join(directory, "deep"));
    await symlink("../latest", join(directory, "deep", "link"));
    await writeFileAtomically(join(directory, "deep", "link"), chunks);
    expect(await readFile(join(directory, "model"), "utf8")).toBe("new content");
    expect((await lstat(join(directory, "latest"))).isSymbolicLink()).toBe(true);
    expect((await readdir(directory)).sort()).toEqual(["deep", "latest", "model"]);
    expect(await readdir(join(directory, "deep"))).toEqual(["link"]);
  });

  it("refuses a link that leads nowhere or in a circle, and leaves it", async () => {
    await symlink("missing/model", join(directory, "nowhere"));
    await symlink("circle", join(directory, "circle"));
    for (const [name, errno] of [
      ["nowhere", "ENOENT"],
      ["circle", "ELOOP"],
    ] as const) {
      const path = join(directory, name);
      const error = await failureOf(writeFileAtomically(path, chunks));
      expect(error).toMatchObject({ code: "SAFETENSORS_IO", details: { path, errno, committed: false } });
      expect((await lstat(path)).isSymbolicLink()).toBe(true);
    }
    expect((await readdir(directory)).sort()).toEqual(["circle", "nowhere"]);
  });

  it("does not take a directory for a file that is held", async () => {
    for (const path of ["/", directory]) {
      await expect(writeFileAtomically(path, chunks)).rejects.toMatchObject({
        code: "SAFETENSORS_IO",
        message: `writing ${path} failed with EISDIR: the path is a directory, name a file`,
        details: { committed: false },
      });
    }
    expect(await readdir(directory)).toEqual([]);
  });

  it("names the errno and a remedy for a directory that is not there", async () => {
    const path = join(directory, "missing", "model");
    const error = await failureOf(writeFileAtomically(path, chunks));
    expect(error).toMatchObject({
      code: "SAFETENSORS_IO",
      details: { path, errno: "ENOENT", committed: false },
    });
    expect(String(error)).toContain("no such file or directory, check the path");
  });

  it("refuses a directory as target and leaves it", async () => {
    const path = join(directory, "model");
    await mkdir(path);
    await writeFile(join(path, "inside"), "kept");
    expect(await failureOf(writeFileAtomically(path, chunks))).toMatchObject({ code: "SAFETENSORS_IO" });
    expect(await readdir(directory)).toEqual(["model"]);
    expect(await readdir(path)).toEqual(["inside"]);
  });

  it.skipIf(process.platform === "win32")(
    "refuses what is no file, such as a device, and leaves it",
    async () => {
      const path = join(directory, "model");
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(path, resolve));
      try {
        expect(await failureOf(writeFileAtomically(path, chunks))).toMatchObject({
          code: "SAFETENSORS_IO",
          details: { path, committed: false },
        });
        expect((await lstat(path)).isSocket()).toBe(true);
      } finally {
        await new Promise((resolve) => server.close(resolve));
      }
    },
  );

  it("stops at an abort, before and during the write", async () => {
    const path = join(directory, "model");
    await writeFile(path, "old");
    await expect(writeFileAtomically(path, chunks, { signal: AbortSignal.abort("why") })).rejects.toBe("why");
    const controller = new AbortController();
    const aborting = function* (): Generator<Uint8Array> {
      yield bytes("abc");
      controller.abort("later");
      yield bytes("def");
    };
    await expect(writeFileAtomically(path, aborting(), { signal: controller.signal })).rejects.toBe("later");
    const last = function* (): Generator<Uint8Array> {
      yield bytes("abc");
      controller.abort();
    };
    await expect(writeFileAtomically(path, last(), { signal: controller.signal })).rejects.toBe("later");
    expect(await readFile(path, "utf8")).toBe("old");
    expect(await readdir(directory)).toEqual(["model"]);
  });

  it.each([
    ["230 bytes", "m".repeat(230)],
    ["the 255 bytes that a name may have", "m".repeat(255)],
    ["255 bytes of longer characters", `${"\u{1f600}é".repeat(42)}abc`],
  ])("a name of %s is written, and what dead processes left of it removed", async (_, long) => {
    const path = join(directory, long);
    await writeFile(path, "old");
    const dead = temporaryName(long).replace(`-${process.pid}-`, "-999999999-");
    const another = temporaryName(`${long.slice(0, -1)}x`).replace(`-${process.pid}-`, "-999999999-");
    for (const file of [dead, another]) await writeFile(join(directory, file), "");
    await writeFileAtomically(path, chunks);
    expect(await readFile(path, "utf8")).toBe("new content");
    expect((await readdir(directory)).sort()).toEqual([another, long].sort());
  });

  it("a name that the file system does not hold is refused, naming what to do", async () => {
    const error = await failureOf(writeFileAtomically(join(directory, "m".repeat(256)), chunks));
    expect(error).toMatchObject({
      code: "SAFETENSORS_IO",
      details: { errno: "ENAMETOOLONG", committed: false },
    });
    expect(String(error)).toContain("shorten the file's name");
  });

  it("one of many concurrent saves wins, whole", async () => {
    const path = join(directory, "model");
    const saves = Array.from({ length: 8 }, (_, i) => {
      return writeFileAtomically(path, [new Uint8Array(100_000).fill(i), new Uint8Array(100_000).fill(i)]);
    });
    await Promise.all(saves);
    const content = await readFile(path);
    expect(content.length).toBe(200_000);
    expect(content.every((byte) => byte === content[0])).toBe(true);
    expect(await readdir(directory)).toEqual(["model"]);
  });

  it("removes what dead processes left of this target, and nothing else", async () => {
    const name = temporaryName("model");
    const dead = name.replace(`-${process.pid}-`, "-999999999-");
    const living = name.replace(`-${process.pid}-`, `-${process.ppid}-`);
    const elsewhere = dead.replace(/^\.model\.[0-9a-f]{8}/, ".model.00000000");
    const kept = [name, living, elsewhere, dead.replace("model", "model2"), `${dead}x`, ".model.tmp"];
    for (const file of [dead, ...kept]) await writeFile(join(directory, file), "");
    await writeFileAtomically(join(directory, "model"), chunks);
    expect((await readdir(directory)).sort()).toEqual([...kept, "model"].sort());
  });
});

describe("temporary names", () => {
  it("are stale only once their process is gone", () => {
    const name = temporaryName("a.b");
    expect(name).toMatch(/^\.a\.b\.[0-9a-f]{8}-\d+-[0-9a-z]+-[0-9a-f]{12}\.tmp$/);
    expect(isStale(name, "a.b")).toBe(false);
    expect(isStale(name.replace(/-(\d+)-/, "-999999999-"), "a.b")).toBe(true);
    expect(isStale(name.replace(/-(\d+)-/, "-999999999-"), "a")).toBe(false);
  });

  it("of this process's id from before it started are a dead namesake's, as after a container's restart", () => {
    const created = (Date.now() - process.uptime() * 1000 - 120_000).toString(36).replace(/\..*/, "");
    const name = temporaryName("model").replace(/-[0-9a-z]+-([0-9a-f]{12})/, `-${created}-$1`);
    expect(isStale(name, "model")).toBe(true);
  });
});
