import { readdir } from "node:fs/promises";
import { MpError } from "@mp/graph";
import { indexUnreachable } from "./index-failure.js";
import { runCommand } from "./run-command.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** The first Python on this machine that has pip. */
export async function findPip(environment: Environment): Promise<string | undefined> {
  for (const python of ["python3", "python"]) {
    const found = await runCommand(python, ["-m", "pip", "--version"], { env: environment }).then(
      ({ status }) => status === 0,
      () => false,
    );
    if (found) return python;
  }
  return undefined;
}

export interface PipRequest {
  readonly project: string;
  readonly version: string;
  /** The CPython version whose wheel is fetched, such as `3.11`, whatever version runs pip. */
  readonly cpython: string;
  /** Platform tags of the project's wheels. */
  readonly platforms: readonly string[];
  /** Advice for an index without such a wheel. */
  readonly otherwise: string;
  /** The space needed, with the download: `1.2 GB is needed`. */
  readonly space: string;
  readonly folder: string;
  readonly environment: Environment;
}

/**
 * Downloads with pip, which honors the user's index, credentials, proxies and certificates, and checks the file
 * against the SHA-256 in the index.
 * @returns the name of the one wheel that is then in the folder
 * @throws MP_BACKEND_UNAVAILABLE if there is no pip, or the index cannot be reached or lacks the release
 */
export async function fetchWithPip(request: PipRequest): Promise<string> {
  const { project, version, folder, environment, cpython, platforms } = request;
  const requirement = `${project}==${version}`;
  const python = await findPip(environment);
  if (python === undefined)
    throw new MpError(
      "MP_BACKEND_UNAVAILABLE",
      `${requirement}: pip is needed to fetch the wheel, and neither python3 nor python has it; apt-get install python3-pip, or fetch the wheel elsewhere and name it with --wheel`,
    );
  const { status, stderr } = await runCommand(
    python,
    [
      ...["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input", "--retries", "2"],
      ...["--implementation", "cp", "--python-version", cpython],
      ...platforms.flatMap((platform) => ["--platform", platform]),
      ...["--dest", folder, requirement],
    ],
    {
      env: { ...environment, PIP_DISABLE_PIP_VERSION_CHECK: "1" },
      showOutput: process.stderr.isTTY === true,
    },
  );
  const wheel = (await readdir(folder).catch(() => [])).find((name) => name.endsWith(".whl"));
  if (status === 0 && wheel !== undefined) return wheel;
  throw failure(request, stderr);
}

/** The errors for pip's messages; pip's exit status does not distinguish them, it is always 1. */
const MEANINGS: readonly {
  readonly pattern: RegExp;
  readonly failure: (what: string, said: string, request: PipRequest) => MpError;
}[] = [
  {
    pattern: /No space left on device|Disk quota exceeded/i,
    failure: (what, said, { space }) =>
      new MpError(
        "MP_IO",
        `${what}: the disk is full (pip: ${said}); ${space} under ~/.cache/mp, XDG_CACHE_HOME moves it`,
      ),
  },
  {
    pattern: /HASH(?:ES)? (?:FROM|DO NOT MATCH)|DO NOT MATCH THE HASHES/i,
    failure: (what, said) =>
      new MpError(
        "MP_PARSE",
        `${what}: what the index sent is not what it promised (pip: ${said}); nothing was installed`,
      ),
  },
  {
    pattern:
      /Retrying \(|Max retries|ConnectionError|NewConnectionError|Timeout|timed out|Name or service|name resolution|ProxyError|SSLError|HTTP error (?:40[137]|5\d\d)|(?:40[137]|5\d\d) (?:Client|Server) Error/i,
    failure: indexUnreachable,
  },
  {
    pattern: /No matching distribution|Could not find a version/i,
    failure: (what, said, { cpython, otherwise }) =>
      new MpError(
        "MP_BACKEND_UNAVAILABLE",
        `${what}: the index has no wheel of it for Linux x64 and CPython ${cpython} (pip: ${said}); ${otherwise}`,
      ),
  },
];

function failure(request: PipRequest, stderr: string): MpError {
  const requirement = `${request.project}==${request.version}`;
  const lines = stderr.split("\n").map((line) => line.trim());
  const meaning = MEANINGS.find(({ pattern }) => pattern.test(stderr));
  const telling =
    lines.find((line) => meaning?.pattern.test(line)) ?? lines.findLast((line) => line !== "") ?? "nothing";
  const said = withoutCredentials(essence(telling));
  if (meaning !== undefined) return meaning.failure(requirement, said, request);
  return new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `${requirement}: pip did not download it (${said}); fetch the wheel elsewhere and name it with --wheel`,
  );
}

/** Finds the reason in a message of pip. For a failed connection, the message is about pip's retries and contains it. */
function essence(line: string): string {
  const [reason = line.replace(/^(?:ERROR|WARNING):\s*/, "")] =
    /(?:Failed to establish|\[Errno |Read timed out|HTTP error|certificate verify failed)[^'")]*/.exec(
      line,
    ) ?? [];
  return reason.trim().slice(0, 200);
}

function withoutCredentials(text: string): string {
  return text.replace(/(https?:\/\/)[^/\s@]+@/g, "$1");
}
