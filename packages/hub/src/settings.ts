/** Reads settings from the environment, as Python's huggingface_hub does; options take precedence. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { MpError } from "@mp/graph";
import { checks } from "@mp/graph/internal";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Settings {
  /** The hub's address, without a final slash. */
  readonly endpoint: string;
  readonly cache: string;
  readonly offline: boolean;
  readonly token: string | undefined;
  /** A connection that is silent for longer counts as broken. */
  readonly timeoutMs: number;
}

export interface GivenSettings {
  readonly endpoint?: string | undefined;
  readonly cache?: string | undefined;
  readonly offline?: boolean | undefined;
  readonly token?: string | false | undefined;
}

const isAddress = checks.claim(
  "an address that begins with https:// or http://",
  (value) => typeof value === "string" && /^https?:\/\//.test(value) && URL.canParse(value),
);

/** @throws MP_INVALID_ARGUMENT for an invalid endpoint or token */
export function readSettings(given: GivenSettings, environment: Environment): Settings {
  const { HF_ENDPOINT, HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE, HF_HUB_DOWNLOAD_TIMEOUT } = environment;
  const { HF_HOME, XDG_CACHE_HOME, HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE } = environment;
  const home = expandPath(HF_HOME ?? join(XDG_CACHE_HOME ?? "~/.cache", "huggingface"), environment);
  const cache = given.cache ?? HF_HUB_CACHE ?? HUGGINGFACE_HUB_CACHE ?? join(home, "hub");
  const endpoint = given.endpoint ?? HF_ENDPOINT ?? "https://huggingface.co";
  isAddress(`download: ${given.endpoint === undefined ? "HF_ENDPOINT" : "endpoint"}`, endpoint);
  const token = given.token === false ? undefined : (given.token ?? readToken(home, environment));
  // Otherwise the error about an invalid header would show the token.
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      "download: the token must have ASCII letters, digits and signs only; check token, HF_TOKEN or what `hf auth login` stored",
    );
  }
  return {
    endpoint: endpoint.replace(/\/+$/, ""),
    cache: resolve(given.cache === undefined ? expandPath(cache, environment) : cache),
    offline: given.offline ?? isTrue(HF_HUB_OFFLINE || TRANSFORMERS_OFFLINE),
    token,
    timeoutMs: 1000 * (Number(HF_HUB_DOWNLOAD_TIMEOUT) || 10),
  };
}

/** Whether a token would cross a network unencrypted. */
export function sendsInClear({ endpoint, token }: Settings): boolean {
  const { protocol, hostname } = new URL(endpoint);
  const isHere = /^(localhost|.*\.localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
  return token !== undefined && protocol === "http:" && !isHere;
}

/** Finds the token; empty ones are ignored. */
function readToken(home: string, environment: Environment): string | undefined {
  const { HF_TOKEN, HUGGING_FACE_HUB_TOKEN, HF_TOKEN_PATH, HF_HUB_DISABLE_IMPLICIT_TOKEN } = environment;
  if (isTrue(HF_HUB_DISABLE_IMPLICIT_TOKEN)) return undefined;
  const file = expandPath(HF_TOKEN_PATH ?? join(home, "token"), environment);
  return clean(HF_TOKEN) || clean(HUGGING_FACE_HUB_TOKEN) || clean(readIfThere(file)) || undefined;
}

const clean = (token = ""): string => token.replace(/[\r\n]/g, "").trim();

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

const isTrue = (value = ""): boolean => ["1", "ON", "YES", "TRUE"].includes(value.toUpperCase());

/** Expands `~` at the beginning, then `$NAME` and `${NAME}`, which stay if there is no such variable. */
const expandPath = (path: string, environment: Environment): string =>
  path
    .replace(/^~(?=$|[/\\])/, () => homedir())
    .replace(/\$(?:(\w+)|\{([^}]*)\})/g, (all, short, long) => environment[short ?? long] ?? all);
