/** Parses the name of a repository, for its URLs and its folder in the cache. */
import { join } from "node:path";
import { checks } from "@mp/graph/internal";

export interface Repository {
  readonly type: "model" | "dataset";
  /** `org/name`, without the type. */
  readonly name: string;
  /** The name in addresses, where data sets begin with `datasets/`. */
  readonly path: string;
  /** The folder in the cache, named as by Python's huggingface_hub. */
  readonly folder: string;
}

/** Prefix of names in addresses, by type. */
const PREFIXES = { model: "", dataset: "datasets/" } as const;
const PART = "[A-Za-z0-9_](?:[\\w.-]{0,94}[A-Za-z0-9_])?";
const NAME = new RegExp(`^(?:${PART}/)?${PART}$`);
const isName = checks.claim(
  "a name such as org/model or datasets/org/name (letters, digits, -, _ and .; no -- and ..)",
  (value) => {
    if (typeof value !== "string") return false;
    const name = value.startsWith(PREFIXES.dataset) ? value.slice(PREFIXES.dataset.length) : value;
    return NAME.test(name) && !/--|\.\.|\.git$/.test(name);
  },
);

/** @throws MP_INVALID_ARGUMENT for a value that cannot be a name */
export function parseRepository(given: string, cache: string): Repository {
  isName("download: the repository", given);
  const type = given.startsWith(PREFIXES.dataset) ? "dataset" : "model";
  const name = given.slice(PREFIXES[type].length);
  const folder = join(cache, [`${type}s`, ...name.split("/")].join("--"));
  return { type, name, path: given, folder };
}

/** Whether a name with slashes stays inside of the folder it is joined to, on every system. */
export const staysInside = (name: string): boolean =>
  !/[\\\0]|^[A-Za-z]:/.test(name) &&
  name.split("/").every((part) => part !== "" && part !== "." && part !== "..");
