/** Renders chats as text by templates, and finds the answers in the text. */

import { MpError } from "@mp/core";
import { invalid } from "@mp/nn/internal";
import { askPython } from "./chat-thread.js";
import { toPythonJson } from "./python-json.js";

/** A message of a chat, with any further fields that the template reads. */
export interface ChatMessage {
  /** `system`, `user`, `assistant` or another role that the template knows. */
  readonly role: string;
  readonly [field: string]: unknown;
}

/** A template, with the path of its file. */
export interface ChatTemplate {
  readonly file: string;
  readonly source: string;
}

/** The templates of a tokenizer: that of chats, and perhaps one of chats with `tools`. */
export type ChatTemplates = Readonly<Partial<Record<"default" | "tool_use", ChatTemplate>>>;

export interface RenderedChat {
  readonly text: string;
  /** Start and end of each answer in the text, in code points. */
  readonly spans: readonly (readonly [start: number, end: number])[];
}

/** An answer of `python/render.py`: a text, the index of an answer that cannot be found, or a problem. */
type Answer =
  | RenderedChat
  | { readonly changed: number }
  | { readonly syntax: string; readonly line: number | null }
  | { readonly refused: string; readonly cause?: unknown };

/**
 * Renders a chat. With `answers`, also finds the answers: the parts inside `{% generation %}` or, in a template
 * without these tags, the text that each message of the assistant adds.
 * @param variables the template's variables, named as in transformers
 * @throws MP_PARSE for an invalid template; MP_INVALID_ARGUMENT for messages that the template refuses or for
 *   which it takes too much time or memory, and, with `answers`, if a template without tags changes earlier
 *   messages; MP_BACKEND_UNAVAILABLE without `pyodide`
 */
export async function renderChat(
  { file, source }: ChatTemplate,
  variables: Readonly<Record<string, unknown>>,
  answers = false,
): Promise<RenderedChat> {
  const answer = await ask({ source, variables, answers });
  if ("text" in answer) return answer;
  if ("changed" in answer)
    throw invalid(
      `encodeChat: the chat template of ${file} writes messages[${answer.changed}] otherwise where more or fewer messages stand around it, so the answer cannot be found; mark answers with {% generation %} in the template, or end the chat with messages[${answer.changed}]`,
      { file, message: answer.changed },
    );
  if ("refused" in answer)
    throw invalid(
      `${file}: its chat template refuses the messages: ${answer.refused}; change the messages or the template`,
      { file, problem: answer.refused },
      answer.cause,
    );
  const { syntax, line } = answer;
  const message = `${file}: the chat template cannot be read${line === null ? "" : `, line ${line}`} (${syntax}); correct it`;
  throw new MpError("MP_PARSE", message, { details: { file, line } });
}

async function ask(request: object): Promise<Answer> {
  try {
    return JSON.parse(await askPython(toPythonJson(request)));
  } catch (cause) {
    if (MpError.is(cause)) throw cause;
    return { refused: cause instanceof Error ? cause.message : String(cause), cause };
  }
}
