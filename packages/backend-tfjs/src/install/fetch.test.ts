import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { fakeWheel } from "../../test/fixtures/fake-wheel.js";
import { failure, removeScratch, scratch } from "../../test/fixtures/scratch.js";
import { fetchFromIndex } from "./fetch-from-index.js";
import { fetchWithPip, findPip } from "./fetch-with-pip.js";
import { isIndexUnreachable } from "./index-failure.js";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  removeScratch();
});

interface Request {
  readonly url: string;
  readonly authorization: string | undefined;
}

/** An index on this machine. `answer` gives a status and a body for a path. */
async function serve(answer: (path: string) => readonly [number, string | Buffer]) {
  const seen: Request[] = [];
  const server = createServer((request, response) => {
    const { url = "", headers } = request;
    seen.push({ url, authorization: headers.authorization });
    const [status, body] = answer(url);
    response.writeHead(status).end(body);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const request = { project: "tensorflow-cpu", version: "2.20.0" };

describe("fetchFromIndex", () => {
  const wheelOf = () => {
    const path = fakeWheel(scratch());
    const bytes = readFileSync(path);
    return { name: basename(path), bytes, digest: createHash("sha256").update(bytes).digest("hex") };
  };
  const page = (files: readonly object[]) => JSON.stringify({ meta: { "api-version": "1.1" }, files });

  it("takes the release's wheel for this platform and Python, and checks it", async () => {
    const { name, bytes, digest } = wheelOf();
    const other = (text: string, by: string) => ({
      filename: name.replace(text, by),
      url: "/wrong",
      hashes: {},
    });
    const { host, seen } = await serve((path) =>
      path.endsWith(".whl")
        ? [200, bytes]
        : [
            200,
            page([
              other("2.20.0", "2.20.1"),
              other("manylinux_2_27_x86_64", "win_amd64"),
              { filename: name, url: `../files/${name}`, hashes: { sha256: digest } },
              other("cp311-cp311", "cp313-cp313"),
            ]),
          ],
    );
    const folder = scratch();
    const environment = { PIP_INDEX_URL: `http://user:p%40ss@${host}/simple/` };
    expect(await fetchFromIndex({ ...request, folder, environment })).toBe(name);
    expect(readFileSync(join(folder, name)).equals(bytes)).toBe(true);
    const authorization = `Basic ${Buffer.from("user:p@ss").toString("base64")}`;
    expect(seen).toEqual([
      { url: "/simple/tensorflow-cpu/", authorization },
      { url: `/simple/files/${name}`, authorization },
    ]);
  });

  it("keeps the password from another host", async () => {
    const { name, bytes, digest } = wheelOf();
    const files = await serve(() => [200, bytes]);
    const index = await serve(() => [
      200,
      page([{ filename: name, url: `http://${files.host}/${name}`, hashes: { sha256: digest } }]),
    ]);
    const environment = { PIP_INDEX_URL: `http://user:secret@${index.host}/simple` };
    await fetchFromIndex({ ...request, folder: scratch(), environment });
    expect(files.seen.map(({ authorization }) => authorization)).toEqual([undefined]);
  });

  it.each([
    ["another digest", { sha256: "0".repeat(64) }, "MP_PARSE", "SHA-256 0000"],
    ["no digest", {}, "MP_BACKEND_UNAVAILABLE", "gives no SHA-256"],
  ] as const)("refuses a wheel with %s", async (_, hashes, code, text) => {
    const { name, bytes } = wheelOf();
    const { host } = await serve((path) =>
      path.endsWith(".whl") ? [200, bytes] : [200, page([{ filename: name, url: `/${name}`, hashes }])],
    );
    const environment = { PIP_INDEX_URL: `http://${host}/simple` };
    const error = await failure(() => fetchFromIndex({ ...request, folder: scratch(), environment }));
    expect(error.code).toBe(code);
    expect(error.message).toContain(text);
    expect(isIndexUnreachable(error)).toBe(false);
  });

  it.each([
    ["the release is not there", 200, '{"files":[]}', "has no wheel of it", false],
    ["the project is not there", 404, "", "answers 404", false],
    ["it speaks HTML", 200, "<html>", "answers no JSON", false],
    ["it is out of order", 503, "", "answers 503", true],
  ])("says so when %s", async (_, status, body, text, unreachable) => {
    const { host } = await serve(() => [status, body]);
    const environment = { PIP_INDEX_URL: `http://${host}/simple` };
    const error = await failure(() => fetchFromIndex({ ...request, folder: scratch(), environment }));
    expect(error.code).toBe("MP_BACKEND_UNAVAILABLE");
    expect(error.message).toContain(text);
    expect(isIndexUnreachable(error)).toBe(unreachable);
  });

  it("tells an index that cannot be reached", async () => {
    const { host } = await serve(() => [200, ""]);
    for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
    const environment = { PIP_INDEX_URL: `http://${host}/simple` };
    const error = await failure(() => fetchFromIndex({ ...request, folder: scratch(), environment }));
    expect(isIndexUnreachable(error)).toBe(true);
    expect(error.message).toContain("--wheel");
  });
});

describe("fetchWithPip", () => {
  /** A program that is called as `python3 -m pip …` and does what a shell script says. */
  function fakePython(script: string): Record<string, string | undefined> {
    const folder = scratch();
    const text = `#!/bin/sh\nif [ "$3" = --version ]; then exit 0; fi\n${script}\n`;
    writeFileSync(join(folder, "python3"), text, { mode: 0o755 });
    return { ...process.env, PATH: `${folder}:/usr/bin:/bin` };
  }
  const fetching = (environment: Record<string, string | undefined>, folder = scratch()) =>
    fetchWithPip({ ...request, python: "python3", folder, environment });

  it("finds pip, and finds none where there is none", async () => {
    expect(await findPip(fakePython(""))).toBe("python3");
    const empty = scratch("bin");
    expect(await findPip({ PATH: empty })).toBeUndefined();
  });

  it("asks for the release by project, platform and Python", async () => {
    const folder = scratch("wheels");
    mkdirSync(join(folder, "ignored"));
    const environment = fakePython(`echo "$*" > "${folder}/asked"; touch "${folder}/a.whl"`);
    expect(await fetching(environment, folder)).toBe("a.whl");
    const asked = readFileSync(join(folder, "asked"), "utf8");
    expect(asked).toContain("tensorflow-cpu==2.20.0");
    expect(asked).toContain("--platform manylinux_2_27_x86_64");
    expect(asked).toContain("--only-binary=:all:");
  });

  it.each([
    [
      "WARNING: Retrying (Retry(total=1)) after connection broken by 'NewConnectionError('<x>: Failed to establish a new connection: [Errno 111] Connection refused')'\nERROR: No matching distribution found for tensorflow-cpu==2.20.0",
      "MP_BACKEND_UNAVAILABLE",
      "cannot be reached (Failed to establish a new connection: [Errno 111] Connection refused)",
      true,
    ],
    [
      "ERROR: Could not find a version that satisfies the requirement (from versions: 2.21.0)\nERROR: No matching distribution found",
      "MP_BACKEND_UNAVAILABLE",
      "choose another release with --version",
      false,
    ],
    [
      "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
      "MP_IO",
      "XDG_CACHE_HOME",
      false,
    ],
    [
      "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
      "MP_PARSE",
      "promised",
      false,
    ],
    [
      "ERROR: something else at https://user:secret@host/simple",
      "MP_BACKEND_UNAVAILABLE",
      "host/simple",
      false,
    ],
  ])("knows what pip means by %s", async (said, code, text, unreachable) => {
    const error = await failure(() => fetching(fakePython(`cat >&2 <<'END'\n${said}\nEND\nexit 1`)));
    expect(error.code).toBe(code);
    expect(error.message).toContain(text);
    expect(error.message).not.toContain("secret");
    expect(isIndexUnreachable(error)).toBe(unreachable);
  });
});
