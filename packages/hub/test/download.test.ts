import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { MpError } from "@mp/graph";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type DownloadOptions, download, type Progress } from "../src/index.js";
import { COMMIT, gitSum, type HubServer, type Served, sendFile, serveHub, sha256 } from "./hub-server.js";

/** The pauses of the code, none of which is waited for in full. */
const pauses: number[] = vi.hoisted(() => []);
vi.mock("node:timers/promises", () => ({
  setTimeout: (ms: number) => {
    pauses.push(ms);
    return new Promise((done) => setTimeout(done, Math.min(ms, 5)));
  },
}));

const REPO = "org/tiny-model";
const noise = (length: number, seed = 1): Buffer => {
  const bytes = Buffer.alloc(length);
  let state = seed;
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[at] = state >>> 16;
  }
  return bytes;
};
const FILES: Readonly<Record<string, Served>> = {
  "config.json": { bytes: Buffer.from('{"vocab_size":256}') },
  "model.safetensors": { bytes: noise(300_000), isLarge: true },
  "sub/sharp # and % and ä.txt": { bytes: Buffer.from("names are escaped") },
  "sub/empty.txt": { bytes: Buffer.alloc(0) },
};

let folder: string;
let hub: HubServer;
beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "mp-hub-")));
  hub = await serveHub(REPO, FILES);
  pauses.length = 0;
  for (const name of ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
    vi.stubEnv(name, undefined);
  vi.stubEnv("HF_HOME", join(folder, "home"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await hub.close();
  rmSync(folder, { recursive: true, force: true });
});

const get = (options: DownloadOptions = {}, repo = REPO): Promise<string> =>
  download(repo, { endpoint: hub.endpoint, cache: join(folder, "cache"), ...options });
const place = (...parts: string[]): string => join(folder, "cache", "models--org--tiny-model", ...parts);
const blob = (name: string): string => {
  const { bytes, isLarge } = FILES[name] as Served;
  return place("blobs", isLarge === true ? sha256(bytes) : gitSum(bytes));
};

async function failure(action: Promise<unknown>): Promise<MpError> {
  const error = await action.then(
    () => new Error("nothing was thrown"),
    (error: unknown) => error,
  );
  if (MpError.is(error)) return error;
  throw error;
}

function expectWhole(snapshot: string, names: readonly string[] = Object.keys(FILES)): void {
  for (const name of names)
    expect(readFileSync(join(snapshot, name)).equals(FILES[name]?.bytes as Buffer)).toBe(true);
  const unfinished = readdirSync(place("blobs")).filter((name) => name.endsWith(".incomplete"));
  expect(unfinished).toEqual([]);
}

/** Sends a part of the file and breaks the connection off. */
const cutAt =
  (name: string, where: (start: number) => number): HubServer["instead"] =>
  (request, response, path) => {
    if (!path.endsWith(name)) return false;
    const { bytes } = FILES[name] as Served;
    const [, start = "0"] = /^bytes=(\d+)-/.exec(request.headers.range ?? "") ?? [];
    const end = where(Number(start));
    if (end >= bytes.length) return false;
    response.writeHead(Number(start) > 0 ? 206 : 200, {
      "content-length": bytes.length - Number(start),
      ...(Number(start) > 0 ? { "content-range": `bytes ${start}-${bytes.length - 1}/${bytes.length}` } : {}),
    });
    response.write(bytes.subarray(Number(start), end), () => response.destroy());
    return true;
  };

describe("download", () => {
  it("lays the cache out as Python does", async () => {
    const seen: Progress[] = [];
    const snapshot = await get({ onProgress: (progress) => seen.push(progress) });
    expect(snapshot).toBe(place("snapshots", COMMIT));
    expectWhole(snapshot);
    expect(readFileSync(place("refs", "main"), "utf8")).toBe(COMMIT);
    expect(readlinkSync(join(snapshot, "sub/empty.txt"))).toBe(
      "../../../blobs/e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    );
    expect(lstatSync(join(snapshot, "config.json")).isSymbolicLink()).toBe(true);
    expect(readdirSync(place()).sort()).toEqual(["blobs", "refs", "snapshots", "trees"]);
    const totalBytes = Object.values(FILES).reduce((sum, { bytes }) => sum + bytes.length, 0);
    expect(seen.at(-1)).toMatchObject({ bytes: totalBytes, totalBytes });
    expect(seen.every(({ bytes }, at) => at === 0 || bytes >= (seen[at - 1]?.bytes ?? 0))).toBe(true);
  });

  it("fetches what is asked for, once, and lists in pages", async () => {
    hub.pageSize = 2;
    const snapshot = await get({ files: ["*.json", "sub/"] });
    expect(existsSync(join(snapshot, "model.safetensors"))).toBe(false);
    expectWhole(snapshot, ["config.json", "sub/sharp # and % and ä.txt", "sub/empty.txt"]);
    hub.asked.length = 0;
    expect(await get({ files: ["*.json", "*.jinja"] })).toBe(snapshot);
    expect(hub.asked.map(({ path }) => path)).toEqual([`/api/models/${REPO}/revision/main`]);
    await get({ revision: COMMIT, files: ["config.json"] });
    expect(hub.asked).toHaveLength(1);
  });

  it("gives data sets, other revisions and unknown files their due", async () => {
    await hub.close();
    hub = await serveHub("datasets/org/rows", { "rows.jsonl": { bytes: Buffer.from("{}\n") } });
    const snapshot = await get({ revision: "refs/pr/1" }, "datasets/org/rows");
    expect(readFileSync(join(snapshot, "rows.jsonl"), "utf8")).toBe("{}\n");
    const root = join(folder, "cache", "datasets--org--rows");
    expect(readFileSync(join(root, "refs/refs/pr/1"), "utf8")).toBe(COMMIT);
    const error = await failure(get({ files: ["train.parquet", "*.jsonl"] }, "datasets/org/rows"));
    expect(error).toMatchObject({ code: "MP_INVALID_ARGUMENT", details: { lacking: ["train.parquet"] } });
    expect(error.message).toContain("it has rows.jsonl");
  });

  it("goes on after every cut, wherever it is", async () => {
    const { bytes } = FILES["model.safetensors"] as Served;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length - 1), { maxLength: 4 }), async (cuts) => {
        const places = [...cuts].sort((a, b) => a - b);
        hub.asked.length = 0;
        hub.instead = cutAt("model.safetensors", (start) => places.find((at) => at > start) ?? bytes.length);
        const snapshot = await get({ files: ["model.safetensors"] });
        expectWhole(snapshot, ["model.safetensors"]);
        const starts = hub.asked.filter(({ path }) => path.includes("/resolve/")).map(({ range }) => range);
        expect(starts.slice(1).every((range) => range !== undefined)).toBe(true);
        rmSync(join(folder, "cache"), { recursive: true });
      }),
      { numRuns: 8 },
    );
  });

  it("stops after some attempts without a new byte, and the next call goes on", async () => {
    hub.instead = cutAt("model.safetensors", () => 100_000);
    const error = await failure(get({ files: ["model.safetensors"] }));
    expect(error).toMatchObject({ code: "MP_IO", details: { repo: "model.safetensors" } });
    expect(hub.asked.filter(({ path }) => path.includes("/resolve/")).length).toBeLessThanOrEqual(6);
    hub.instead = () => false;
    hub.asked.length = 0;
    expectWhole(await get({ files: ["model.safetensors"] }), ["model.safetensors"]);
    expect(hub.asked.find(({ path }) => path.includes("/resolve/"))?.range).toMatch(/^bytes=[1-9]/);
  });

  it("starts again where a server ignores the range", async () => {
    const { bytes } = FILES["model.safetensors"] as Served;
    let cuts = 0;
    hub.instead = (_request, response, path) => {
      if (!path.endsWith(".safetensors")) return false;
      cuts++;
      if (cuts > 2) sendFile(bytes, undefined, response);
      else {
        response.writeHead(200, { "content-length": bytes.length });
        response.write(bytes.subarray(0, 1000), () => response.destroy());
      }
      return true;
    };
    expectWhole(await get({ files: ["*.safetensors"] }), ["model.safetensors"]);
  });

  it("does not take another range for the one asked for", async () => {
    const { bytes } = FILES["model.safetensors"] as Served;
    let answers = 0;
    hub.instead = (_request, response, path) => {
      if (!path.endsWith(".safetensors") || answers++ > 1) return false;
      const start = answers === 1 ? 0 : 5;
      response.writeHead(answers === 1 ? 200 : 206, { "content-range": `bytes ${start}-9/${bytes.length}` });
      response.write(bytes.subarray(start, 10), () => response.destroy());
      return true;
    };
    expectWhole(await get({ files: ["*.safetensors"] }), ["model.safetensors"]);
  });

  it.each([
    ["less", -10],
    ["more", 10],
  ])("does not believe a Content-Length that is %s than there is", async (_name, difference) => {
    const { bytes } = FILES["model.safetensors"] as Served;
    let answers = 0;
    hub.instead = (_request, response, path) => {
      if (!path.endsWith(".safetensors") || answers++ > 0) return false;
      response.socket?.write(`HTTP/1.1 200 OK\r\ncontent-length: ${bytes.length + difference}\r\n\r\n`);
      response.socket?.end(bytes);
      return true;
    };
    expectWhole(await get({ files: ["*.safetensors"] }), ["model.safetensors"]);
  });

  it.each(["config.json", "model.safetensors"])("keeps nothing of a %s with other bytes", async (name) => {
    hub.instead = (_request, response, path) => {
      if (!path.includes("/resolve/")) return false;
      const bytes = Buffer.from(FILES[name]?.bytes as Buffer);
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1;
      sendFile(bytes, undefined, response);
      return true;
    };
    const error = await failure(get({ files: [name] }));
    expect(error).toMatchObject({ code: "MP_PARSE", details: { file: name } });
    expect(readdirSync(place("blobs"))).toEqual([]);
  });

  it("refuses more bytes than are listed", async () => {
    hub.instead = (_request, response, path) => {
      if (!path.includes("/resolve/")) return false;
      sendFile(
        Buffer.concat([FILES["model.safetensors"]?.bytes as Buffer, Buffer.from("x")]),
        undefined,
        response,
      );
      return true;
    };
    const error = await failure(get({ files: ["model.safetensors"] }));
    expect(error.code).toBe("MP_PARSE");
    expect(error.message).toContain("more than the 300000 bytes");
  });

  it("hangs on no silent server", async () => {
    vi.stubEnv("HF_HUB_DOWNLOAD_TIMEOUT", "1");
    let isFirst = true;
    hub.instead = (_request, response, path) => {
      if (!path.endsWith(".safetensors") || !isFirst) return false;
      isFirst = false;
      response.writeHead(200, { "content-length": 300_000 });
      response.write(Buffer.alloc(0));
      return true;
    };
    expectWhole(await get({ files: ["*.safetensors"] }), ["model.safetensors"]);
  });

  it("downloads again what an earlier process left damaged, and a blob of another size", async () => {
    mkdirSync(place("blobs"), { recursive: true });
    writeFileSync(`${blob("model.safetensors")}.left.incomplete`, Buffer.alloc(1000, 7));
    writeFileSync(blob("config.json"), "short");
    expectWhole(await get());
  });

  it.each([
    [401, "HF_TOKEN"],
    [403, "accept the conditions"],
    [404, "check the name and the revision"],
    [418, "answers 418"],
  ])("gives %i a code and a remedy, and asks once", async (status, remedy) => {
    hub.instead = (_request, response) => {
      response.writeHead(status, { "content-type": "application/json" }).end('{"error":"no"}');
      return true;
    };
    const error = await failure(get({ token: "hf_secret" }));
    expect(error).toMatchObject({ code: "MP_IO", details: { repo: REPO, status } });
    expect(error.message).toContain(remedy);
    expect(error.message).not.toContain("secret");
    expect(hub.asked).toHaveLength(1);
  });

  it.each([429, 503])("asks again after %i, as late as it says, and says so in the end", async (status) => {
    let answers = 0;
    hub.instead = (_request, response) => {
      if (answers++ > 0) return false;
      response.writeHead(status, { "retry-after": "1" }).end();
      return true;
    };
    expectWhole(await get({ files: ["config.json"] }), ["config.json"]);
    expect(pauses).toEqual([1000]);
  });

  it("gives up after some refusals", async () => {
    hub.instead = (_request, response) => {
      response.writeHead(429).end();
      return true;
    };
    const error = await failure(get());
    expect(error).toMatchObject({ code: "MP_IO", details: { status: 429 } });
    expect(hub.asked).toHaveLength(5);
    expect(pauses).toEqual([500, 1000, 2000, 4000]);
  });

  it("takes the token to the hub and no further", async () => {
    const elsewhere = await serveHub(REPO, FILES);
    hub.instead = (_request, response, path) => {
      if (!path.includes("/resolve/")) return false;
      response.writeHead(302, { location: elsewhere.endpoint + path }).end();
      return true;
    };
    await get({ token: "anything-goes", files: ["model.safetensors"] });
    expect(hub.asked.every(({ authorization }) => authorization === "Bearer anything-goes")).toBe(true);
    expect(elsewhere.asked.map(({ authorization }) => authorization)).toEqual([undefined]);
    // Pages of the list name the next one.
    rmSync(place("trees"), { recursive: true });
    hub.instead = (_request, response, path) => {
      if (!path.includes("/tree/")) return false;
      response.writeHead(200, {
        "content-type": "application/json",
        link: `<${elsewhere.endpoint}${path}>; rel="next"`,
      });
      response.end("[]");
      return true;
    };
    await get({ token: "anything-goes", files: ["model.safetensors"] });
    expect(elsewhere.asked.map(({ authorization }) => authorization)).toEqual([undefined, undefined]);
    await elsewhere.close();
    hub.instead = () => false;
    vi.stubEnv("HF_TOKEN", "hf_environment");
    hub.asked.length = 0;
    await get({ files: ["model.safetensors"] });
    await get({ token: false, files: ["model.safetensors"] });
    expect(hub.asked.map(({ authorization }) => authorization)).toEqual(["Bearer hf_environment", undefined]);
  });

  it.each(["../outside", "/etc/outside", "a/../../outside", "a//b", "a\\..\\b", "C:/x", "."])(
    "refuses a file named %s",
    async (path) => {
      hub.listed = (entry) => (entry["path"] === "config.json" ? { ...entry, path } : entry);
      const error = await failure(get());
      expect(error).toMatchObject({ code: "MP_PARSE", details: { file: path } });
      expect(existsSync(join(folder, "cache"))).toBe(false);
    },
  );

  it.each([
    ["commit", () => Object.assign(hub, { commit: "../../x" })],
    ["git sum", () => Object.assign(hub, { listed: (entry: object) => ({ ...entry, oid: "../x" }) })],
    [
      "SHA-256",
      () => Object.assign(hub, { listed: (entry: object) => ({ ...entry, lfs: { oid: "a/b", size: 3 } }) }),
    ],
    [
      "size",
      () => Object.assign(hub, { listed: (entry: object) => ({ ...entry, size: -1, lfs: undefined }) }),
    ],
  ])("refuses a list with a wrong %s", async (_name, falsify) => {
    falsify();
    expect((await failure(get())).code).toBe("MP_PARSE");
    expect(existsSync(join(folder, "cache"))).toBe(false);
  });

  it.each(["", "a/b/c", "../x", "a--b", "x.git", "datasets/../x", "-a", "org/mod el"])(
    "refuses the repository %j",
    async (repo) => {
      expect((await failure(get({}, repo))).code).toBe("MP_INVALID_ARGUMENT");
    },
  );

  it("refuses wrong options", async () => {
    for (const options of [
      { revision: "../x" },
      { files: [""] },
      { files: [] },
      { token: "hf_hidden\u00fc" },
      { endpoint: "hub.local" },
      { token: true },
      { offLine: true },
    ]) {
      const error = await failure(get(options as DownloadOptions));
      expect(error.code).toBe("MP_INVALID_ARGUMENT");
      expect(error.message).not.toContain("hidden");
    }
    vi.stubEnv("HF_ENDPOINT", "hub.local");
    expect((await failure(download(REPO))).message).toContain("HF_ENDPOINT must be an address");
    expect(hub.asked).toEqual([]);
  });

  it("refuses an empty repository", async () => {
    await hub.close();
    hub = await serveHub(REPO, {});
    hub.listed = () => ({ type: "directory" });
    const error = await failure(get());
    expect(error.code).toBe("MP_INVALID_ARGUMENT");
    expect(error.message).toContain("it has no file; check the name and the revision");
  });

  it("keeps what has come to a disk that is full, and says what to do", async () => {
    mkdirSync(place("blobs"), { recursive: true });
    symlinkSync("/dev/full", `${blob("model.safetensors")}.left.incomplete`);
    const error = await failure(get({ files: ["model.safetensors"] }));
    expect(error).toMatchObject({ code: "MP_IO", details: { code: "ENOSPC" } });
    expect(error.message).toContain("make room and call again, what has come is kept");
    rmSync(`${blob("model.safetensors")}.left.incomplete`);
    expectWhole(await get());
  });

  it("ends at once where its signal says so, and the next call goes on", async () => {
    const reason = new Error("enough");
    expect(await get({ signal: AbortSignal.abort(reason) }).catch((error) => error)).toBe(reason);
    expect(hub.asked).toEqual([]);
    for (const asked of ["/revision/", "/tree/", "/resolve/"]) {
      const ending = new AbortController();
      hub.instead = (_request, response, path) => {
        if (!path.includes(asked)) return false;
        response.writeHead(200).write("{", () => ending.abort(reason));
        return true;
      };
      expect(await get({ signal: ending.signal }).catch((error) => error)).toBe(reason);
    }
    const waiting = new AbortController();
    hub.instead = (_request, response) => {
      response.writeHead(503).end();
      return true;
    };
    const onProgress = ({ pause }: Progress) => void (pause && waiting.abort(reason));
    expect(await get({ signal: waiting.signal, onProgress }).catch((error) => error)).toBe(reason);
    hub.instead = () => false;
    expectWhole(await get());
  });

  it("tells of its pauses, before and after the files are known", async () => {
    const seen: Progress[] = [];
    const refused = new Set<string>();
    hub.instead = (_request, response, path) => {
      const [question = ""] = /revision|config/.exec(path) ?? [];
      if (question === "" || refused.has(question)) return false;
      refused.add(question);
      response.writeHead(503, { "retry-after": "7" }).end();
      return true;
    };
    await get({ files: ["config.json"], onProgress: (progress) => void seen.push(progress) });
    const because = expect.stringContaining("answers 503");
    expect(seen.filter(({ pause }) => pause !== undefined)).toEqual([
      { file: REPO, bytes: 0, totalBytes: 0, pause: { ms: 7000, because } },
      { file: "config.json", bytes: 0, totalBytes: 18, pause: { ms: 7000, because } },
    ]);
  });

  it("does not wait for longer than five minutes", async () => {
    hub.instead = (_request, response) => {
      response.writeHead(429, { "retry-after": "140" }).end();
      return true;
    };
    expect((await failure(get())).message).toContain("it asks for 140 s of patience");
    expect(pauses).toEqual([140_000, 140_000]);
  });

  it("warns of a token that would go unencrypted over a network", async () => {
    const warnings: string[] = [];
    const onWarning = ({ message }: { readonly message: string }) => void warnings.push(message);
    const away = (token: string | false) =>
      get({ endpoint: "http://hub.invalid", signal: AbortSignal.timeout(2000), onWarning, token });
    await get({ token: "hf_secret", onWarning });
    await away(false).catch(() => {});
    expect(warnings).toEqual([]);
    await away("hf_secret").catch(() => {});
    expect(warnings).toEqual([
      "download: the token goes to http://hub.invalid unencrypted; use https://, or pass token: false",
    ]);
  });

  it("says what a disk refuses", async () => {
    writeFileSync(join(folder, "cache"), "a file");
    const error = await failure(get());
    expect(error.code).toBe("MP_IO");
    expect(error.message).toContain("HF_HOME move it");
  });

  it("reads a whole snapshot of a cache that cannot be written", async () => {
    const snapshot = await get();
    for (const path of [place(), place("blobs"), place("refs"), snapshot]) chmodSync(path, 0o555);
    try {
      expect(await get()).toBe(snapshot);
    } finally {
      for (const path of [place(), place("blobs"), place("refs"), snapshot]) chmodSync(path, 0o755);
    }
  });
});

describe("offline", () => {
  it("takes what is there and names what is not", async () => {
    const snapshot = await get({ files: ["config.json", "sub/"] });
    await hub.close();
    expect(await get({ offline: true, files: ["config.json"] })).toBe(snapshot);
    const error = await failure(get({ offline: true }));
    expect(error).toMatchObject({ code: "MP_IO", details: { missing: ["model.safetensors"] } });
    vi.stubEnv("HF_HUB_OFFLINE", "1");
    expect((await failure(get({ files: ["*.bin"] }))).details["missing"]).toEqual(["*.bin"]);
    truncateSync(blob("config.json"), 3);
    expect((await failure(get({ files: ["*.json"] }))).details["missing"]).toEqual(["config.json"]);
    expect((await failure(get({ revision: "v2" }))).message).toContain("v2: offline, and the cache lacks");
  });

  it("takes what is there for all of it where no list was kept", async () => {
    const snapshot = await get({ files: ["config.json", "sub/"] });
    rmSync(place("trees"), { recursive: true });
    expect(await get({ offline: true })).toBe(snapshot);
    rmSync(blob("config.json"));
    expect((await failure(get({ offline: true, files: ["config.json"] }))).code).toBe("MP_IO");
    rmSync(snapshot, { recursive: true });
    expect((await failure(get({ offline: true }))).details["missing"]).toEqual(["every file"]);
  });
});

describe("several processes", () => {
  // While one process starts, another waits for an answer that the hub holds back.
  beforeEach(() => void vi.stubEnv("HF_HUB_DOWNLOAD_TIMEOUT", "1000"));
  const program = fileURLToPath(new URL("downloading-child.mjs", import.meta.url));
  const child = () =>
    spawn(process.execPath, [program, REPO, hub.endpoint, join(folder, "cache")], {
      stdio: ["ignore", "pipe", "inherit"],
    });

  it("goes on after kill -9", async () => {
    const { bytes } = FILES["model.safetensors"] as Served;
    // Sends a part, and nothing more.
    hub.instead = (_request, response, path) => {
      if (!path.endsWith(".safetensors")) return false;
      response.writeHead(200, { "content-length": bytes.length }).write(bytes.subarray(0, 60_000));
      return true;
    };
    const first = child();
    await vi.waitFor(
      () => {
        const [partial = ""] = readdirSync(place("blobs")).filter((name) => name.endsWith(".incomplete"));
        expect(statSync(place("blobs", partial)).size).toBe(60_000);
      },
      { timeout: 200_000 },
    );
    first.kill("SIGKILL");
    await once(first, "exit");
    expect(existsSync(blob("model.safetensors"))).toBe(false);
    hub.instead = () => false;
    hub.asked.length = 0;
    expectWhole(await get());
    const [, start] =
      /^bytes=(\d+)-/.exec(hub.asked.find(({ range }) => range !== undefined)?.range ?? "") ?? [];
    expect(Number(start)).toBe(60_000);
  });

  it("waits for another process that downloads the same file", async () => {
    // All three are told the commit at the same moment.
    const held: ServerResponse[] = [];
    hub.instead = (_request, response, path) => {
      if (!path.includes("/revision/")) return false;
      held.push(response);
      if (held.length === 3) for (const each of held) each.end(JSON.stringify({ id: REPO, sha: COMMIT }));
      return true;
    };
    const outputs = await Promise.all([get(), text(child().stdout), text(child().stdout)]);
    expect(new Set(outputs)).toEqual(new Set([place("snapshots", COMMIT)]));
    expectWhole(outputs[0] as string);
    expect(hub.asked.filter(({ path }) => path.endsWith(".safetensors"))).toHaveLength(1);
  });
});
