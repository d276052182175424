/** Renders chats as text by templates, and finds which parts of the text are answers. */

import { randomUUID } from "node:crypto";
import { MpError } from "@mp/core";
import { invalid } from "@mp/nn/internal";

/** A message of a chat, with the fields that the template reads. */
export interface ChatMessage {
  /** `system`, `user`, `assistant` or another role that the template knows. */
  readonly role: string;
  readonly [field: string]: unknown;
}

/** The part of `@huggingface/jinja` that is used. */
export interface Jinja {
  readonly Template: new (source: string) => { render(variables: Readonly<Record<string, unknown>>): string };
}

/** Start and end in the text, in characters. */
export type Span = readonly [start: number, end: number];

const UNPAIRED = "generation and endgeneration must come in pairs";
/** Tags that transformers adds to Jinja; they enclose the text that the model is trained to write. */
const GENERATION = /\{%(-?)\s*(end)?generation\s*(-?)%\}/g;

/** Replaces Jinja's `range`, which would fill the memory for `range(10**9)`. The line end is trimmed with the tag. */
const BOUNDED = "{% set range = bounded_range %}\n";
/** Largest count of numbers in all ranges of one rendering; Python's sandbox allows that many in one range. */
const MOST_NUMBERS = 100_000;

export class ChatTemplate {
  readonly #file: string;
  readonly #plain: InstanceType<Jinja["Template"]>;
  readonly #marked: InstanceType<Jinja["Template"]> | undefined;
  readonly #marks = [randomUUID(), randomUUID()] as const;

  /** @throws MP_PARSE for an invalid template */
  constructor({ Template }: Jinja, file: string, source: string) {
    this.#file = file;
    try {
      let isOpen = false;
      // A block of its own in the place of the tag, so that white space around it is treated as around the tag.
      const marked = source.replace(GENERATION, (_, left: string, end: string | undefined, right: string) => {
        if (isOpen !== (end !== undefined)) throw new Error(UNPAIRED);
        isOpen = !isOpen;
        return `{%${left} if true %}{{ "${this.#marks[isOpen ? 0 : 1]}" }}{% endif ${right}%}`;
      });
      if (isOpen) throw new Error(UNPAIRED);
      this.#plain = new Template(BOUNDED + source);
      this.#marked = marked === source ? undefined : new Template(BOUNDED + marked);
    } catch (cause) {
      const problem = cause instanceof Error ? cause.message : String(cause);
      const message = `loadTokenizer: ${file}: the chat template cannot be read (${problem}); correct it`;
      throw new MpError("MP_PARSE", message, { details: { file }, cause });
    }
  }

  /** @throws MP_INVALID_ARGUMENT for messages that the template refuses */
  render(variables: ChatVariables): string {
    return this.#run(this.#plain, variables);
  }

  /**
   * Renders a chat and finds its answers: the parts marked by `{% generation %}`, or else the text that each message
   * of the assistant adds.
   * @throws MP_INVALID_ARGUMENT if a template without marks changes earlier messages
   */
  answers(variables: ChatVariables): { readonly text: string; readonly spans: readonly Span[] } {
    return this.#marked === undefined
      ? this.#addedByAnswers(variables)
      : this.#betweenMarks(this.#run(this.#marked, variables));
  }

  #run(template: InstanceType<Jinja["Template"]>, variables: ChatVariables): string {
    try {
      return template.render({ ...variables, bounded_range: limitRange() });
    } catch (cause) {
      const problem = cause instanceof Error ? cause.message : String(cause);
      throw invalid(
        `${this.#file}: its chat template refuses the messages: ${problem}; change the messages or the template`,
        { file: this.#file, problem },
        cause,
      );
    }
  }

  #betweenMarks(marked: string): { text: string; spans: Span[] } {
    const [open, close] = this.#marks;
    const spans: Span[] = [];
    let text = "";
    for (const [index, part] of marked.split(open).entries()) {
      const [inside = "", outside = ""] = index === 0 ? ["", part] : part.split(close);
      if (index > 0) spans.push([text.length, text.length + inside.length]);
      text += inside + outside;
    }
    return { text, spans };
  }

  #addedByAnswers(variables: ChatVariables): { text: string; spans: Span[] } {
    const { messages } = variables;
    const text = this.render(variables);
    const spans = messages.flatMap(({ role }, at): Span[] => {
      if (role !== "assistant") return [];
      const before = this.render({
        ...variables,
        messages: messages.slice(0, at),
        add_generation_prompt: true,
      });
      const upTo = messages.slice(0, at + 1);
      const after = this.render({ ...variables, messages: upTo, add_generation_prompt: false });
      if (after.startsWith(before) && text.startsWith(after)) return [[before.length, after.length]];
      throw invalid(
        `encodeChat: the chat template of ${this.#file} writes messages[${at}] otherwise where more or fewer messages stand around it, so the answer cannot be found; mark answers with {% generation %} in the template, or end the chat with messages[${at}]`,
        { file: this.#file, message: at },
      );
    });
    return { text, spans };
  }
}

function limitRange(): (first: number, end?: number, step?: number) => number[] {
  let left = MOST_NUMBERS;
  return (first, end, step = 1) => {
    const [start, stop] = end === undefined ? [0, first] : [first, end];
    const length = Math.max(0, Math.ceil((stop - start) / step));
    left -= length;
    if (left >= 0) return Array.from({ length }, (_, at) => start + at * step);
    throw new Error(`range must give at most ${MOST_NUMBERS} numbers in all, got ${length} more`);
  };
}

/** Variables of a template, by transformers' names. */
export interface ChatVariables extends Readonly<Record<string, unknown>> {
  readonly messages: readonly ChatMessage[];
  readonly add_generation_prompt: boolean;
}
