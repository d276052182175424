/** For machines without Python: the simple index's JSON form, https://peps.python.org/pep-0691/. */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { basename, join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import { MpError } from "@mp/core";
import { indexUnreachable } from "./index-failure.js";
import { PYTHON } from "./releases.js";
import { requireDigest } from "./wheel-archive.js";
import { isForLinuxX64, parseWheelName } from "./wheel-name.js";

const DEFAULT_INDEX = "https://pypi.org/simple";
const JSON_FORM = "application/vnd.pypi.simple.v1+json";
const REMEDY =
  "install pip (apt-get install python3-pip), which knows every kind of index, or fetch the wheel elsewhere and name it with --wheel";

interface IndexFile {
  readonly filename: string;
  readonly url: string;
  readonly hashes?: { readonly sha256?: string };
  readonly yanked?: boolean | string;
}

/**
 * Downloads the wheel of a release and checks it against the SHA-256 that the index gives.
 * @returns its name in the folder
 * @throws MP_BACKEND_UNAVAILABLE when the index cannot be reached, lacks the release or speaks no JSON
 * @throws MP_PARSE when the file is not what the index promised
 */
export async function fetchFromIndex(options: {
  readonly project: string;
  readonly version: string;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}): Promise<string> {
  const { project, version, folder, environment } = options;
  const what = `${project}==${version}`;
  const { PIP_INDEX_URL: given = DEFAULT_INDEX } = environment;
  const { url: index, headers } = splitCredentials(`${given.replace(/\/+$/, "")}/${project}/`);
  const answer = await get(index, { ...headers, accept: JSON_FORM }, what);
  const file = chooseFile(await filesOf(answer, what), project, version);
  const digest = file?.hashes?.sha256;
  if (file === undefined || digest === undefined) {
    const problem = file === undefined ? "has no wheel of it for Linux x64" : "gives no SHA-256 for it";
    throw new MpError(
      "MP_BACKEND_UNAVAILABLE",
      `${what}: the index ${problem}; choose another release with --version, or ${REMEDY}`,
    );
  }
  const url = new URL(file.url, answer.url || index);
  // A password is for the index that it was given for, not for whoever it sends us to.
  const own = url.origin === new URL(index).origin ? headers : {};
  const body = (await get(url.href, own, what)).body;
  if (body === null) throw indexUnreachable(what, "an empty answer");
  const hash = createHash("sha256");
  try {
    await pipeline(
      Readable.fromWeb(body as ReadableStream),
      new Transform({
        transform(chunk: Buffer, _encoding, done) {
          hash.update(chunk);
          done(null, chunk);
        },
      }),
      createWriteStream(join(folder, file.filename)),
    );
  } catch (cause) {
    if (cause instanceof TypeError) throw indexUnreachable(what, "the download broke off", cause);
    throw cause;
  }
  requireDigest(file.filename, hash.digest("hex"), digest, "the index says so");
  return file.filename;
}

async function get(url: string, headers: Readonly<Record<string, string>>, what: string): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(url, { headers });
  } catch (cause) {
    const { cause: inner } = cause as { cause?: unknown };
    throw indexUnreachable(what, inner instanceof Error ? inner.message : String(cause), cause);
  }
  if (answer.ok) return answer;
  await answer.body?.cancel();
  const said = `${new URL(url).host} answers ${answer.status} ${answer.statusText}`.trimEnd();
  if (answer.status !== 404) throw indexUnreachable(what, said);
  throw new MpError("MP_BACKEND_UNAVAILABLE", `${what}: ${said}; ${REMEDY}`);
}

async function filesOf(answer: Response, what: string): Promise<readonly IndexFile[]> {
  try {
    const { files } = (await answer.json()) as { files?: unknown };
    if (Array.isArray(files)) return files as readonly IndexFile[];
  } catch {
    // An index of HTML pages; said below.
  }
  throw new MpError("MP_BACKEND_UNAVAILABLE", `${what}: the index answers no JSON; ${REMEDY}`);
}

/** The wheel of the CPython that pip is told to take, else any: the libraries in them are the same. */
function chooseFile(files: readonly IndexFile[], project: string, version: string): IndexFile | undefined {
  const name = project.replaceAll("-", "_");
  const fitting = files
    // A name with a folder in it would be written elsewhere.
    .filter(
      ({ yanked, filename }) => (yanked === undefined || yanked === false) && basename(filename) === filename,
    )
    .map((file) => ({ file, wheel: parseWheelName(file.filename) }))
    .filter(
      ({ wheel }) =>
        wheel !== undefined && wheel.name === name && wheel.version === version && isForLinuxX64(wheel),
    );
  const preferred = fitting.find(({ wheel }) => wheel?.python === `cp${PYTHON.replace(".", "")}`);
  return (preferred ?? fitting.at(-1))?.file;
}

/** `fetch` refuses a user name or password in a URL. */
function splitCredentials(given: string): { url: string; headers: Readonly<Record<string, string>> } {
  let url: URL;
  try {
    url = new URL(given);
  } catch (cause) {
    throw new MpError("MP_INVALID_ARGUMENT", "PIP_INDEX_URL: the URL of a package index is needed", {
      cause,
    });
  }
  const { username, password } = url;
  if (username === "" && password === "") return { url: url.href, headers: {} };
  url.username = "";
  url.password = "";
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { url: url.href, headers: { authorization: `Basic ${Buffer.from(pair).toString("base64")}` } };
}
