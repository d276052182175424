// Imports nothing at run time, so that an old Node can load it.
import type { Finding } from "./finding.js";

const OLDEST = [20, 19] as const;
/** The newest major version of Node that this release was tested on. */
const NEWEST_TRIED = 26;

/** Whether the packages run on a version of Node. */
export function runsOn(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

/** @param version such as `20.19.0` */
export function nodeFinding(version: string): Finding {
  const about = "Node";
  const facts = { version, oldest: OLDEST.join("."), newestTried: NEWEST_TRIED };
  if (!runsOn(version)) {
    const text = `${version} is too old, the packages need ${facts.oldest} or later`;
    return { about, status: "problem", text, remedy: "install a current Node: https://nodejs.org", facts };
  }
  if (Number(version.split(".")[0]) > NEWEST_TRIED) {
    const text = `${version} is newer than Node ${NEWEST_TRIED}, the newest that this release was tried on`;
    const remedy = `see below whether the engines work; if one does not, use Node ${NEWEST_TRIED}`;
    return { about, status: "note", text, remedy, facts };
  }
  return { about, status: "ok", text: version, facts };
}
