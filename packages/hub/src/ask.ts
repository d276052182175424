/** Asks the hub's API, within limits: an answer may be endless, or grow a thousandfold when it is unpacked. */
import { MpError } from "@mp/graph";
import { shown } from "@mp/graph/internal";
import { type Hub, request, unreachable } from "./request.js";
import { withRetries } from "./retries.js";

/** The most bytes of one answer, unpacked; a page of a list has 1000 names. */
const ANSWER_BYTES = 4_000_000;
/** The most that all answers to one question may take together. */
const MOST = { bytes: 64_000_000, pages: 2000 } as const;
/** Time limits of one answer and of all, in multiples of the time for which a connection may be silent. */
const TIMES = { answer: 3, all: 60 } as const;

/**
 * Yields the JSON of an answer, and of each page after it.
 * @throws MP_IO; MP_PARSE for an answer that is not JSON or is too long
 */
export async function* askPages(hub: Hub, what: string, first: string): AsyncGenerator<unknown> {
  const used = { bytes: 0, pages: 0 };
  const end = performance.now() + TIMES.all * hub.timeoutMs;
  for (let url: string | undefined = first; url !== undefined; ) {
    const asked: string = url;
    const { text, link } = await withRetries(hub, () => fetchText(hub, what, asked));
    used.bytes += text.length;
    used.pages += 1;
    yield parse(hub, what, text);
    [, url] = /<(https?:\/\/[^>]+)>;\s*rel="next"/.exec(link) ?? [];
    if (url !== undefined && !URL.canParse(url)) throw badAnswer(hub, `the next page of ${what}`, quote(url));
    const isLate = performance.now() > end;
    if (isLate || used.bytes > MOST.bytes || used.pages > MOST.pages) throw tooLong(hub, what);
  }
}

async function fetchText(hub: Hub, what: string, url: string) {
  const signals = [AbortSignal.timeout(TIMES.answer * hub.timeoutMs), ...(hub.signal ? [hub.signal] : [])];
  const response = await request(hub, what, url, { signal: AbortSignal.any(signals) });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES) throw tooLong(hub, what);
      chunks.push(chunk);
    }
  } catch (cause) {
    throw MpError.is(cause) ? cause : unreachable(what, hub.endpoint, cause);
  }
  return { text: Buffer.concat(chunks).toString(), link: response.headers.get("link") ?? "" };
}

function parse(hub: Hub, what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const isPage = text.trimStart().startsWith("<");
    throw badAnswer(hub, what, isPage ? "a web page" : quote(text), isPage ? PORTAL : undefined);
  }
}

const PORTAL = "a network that asks you to sign in does so, open a page in a browser first; or ";

const tooLong = ({ endpoint, timeoutMs }: Hub, what: string): MpError =>
  new MpError(
    "MP_PARSE",
    `download: ${what}: ${endpoint} must answer in at most ${ANSWER_BYTES} bytes a page, and in ${MOST.bytes} bytes, ${MOST.pages} pages and ${(TIMES.all * timeoutMs) / 1000} s in all; check endpoint and HF_ENDPOINT, or fetch so large a repository by git`,
    { details: { repo: what, endpoint } },
  );

export const badAnswer = ({ endpoint }: Hub, what: string, got: string, hint = ""): MpError =>
  new MpError(
    "MP_PARSE",
    `download: ${endpoint} gives ${got} for ${what}; ${hint}check endpoint and HF_ENDPOINT, they must name a Hugging Face hub`,
    { details: { endpoint } },
  );

/** At most 80 letters of what a hub says, for messages. */
export function quote(...values: readonly unknown[]): string {
  const text = values.map(shown).join(", ");
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
