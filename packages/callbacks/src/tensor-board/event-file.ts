import { closeSync, mkdirSync, openSync, readdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { attempt, writeWhole } from "../log/log-file.js";
import { EventSchema, SessionLog_SessionStatus, type SummarySchema } from "../proto/event_pb.js";
import { encodeRecord, recordsIn } from "./records.js";

/** A value with its tag, as in `Summary.Value`. */
export type TaggedValue = NonNullable<MessageInitShape<typeof SummarySchema>["value"]>[number];

const NAME = /^events\.out\.tfevents\.(\d+)\./;

/**
 * A new event file in a folder for TensorBoard. It is readable at any moment: each event is appended whole before the
 * next step begins. If a killed process leaves half an event, TensorBoard reads up to it.
 */
export class EventFile {
  readonly #path: string;
  readonly #file: number;

  /** @throws MP_IO */
  constructor(folder: string) {
    [this.#path, this.#file] = attempt(folder, "written", () => {
      mkdirSync(folder, { recursive: true });
      const path = join(folder, nextName(readdirSync(folder)));
      return [path, openSync(path, "ax")];
    });
  }

  /**
   * Writes the first events. If the run was resumed after `step` iterations, one event says so, and TensorBoard drops
   * later steps of older files. @throws MP_IO
   */
  begin(step: number): void {
    this.#write({ step: 0n, what: { case: "fileVersion", value: "brain.Event:2" } });
    if (step === 0) return;
    const value = { status: SessionLog_SessionStatus.START };
    this.#write({ step: BigInt(step + 1), what: { case: "sessionLog", value } });
  }

  /** Writes all values as one event. @throws MP_IO */
  write(step: number, values: readonly TaggedValue[]): void {
    if (values.length === 0) return;
    this.#write({ step: BigInt(step), what: { case: "summary", value: { value: [...values] } } });
  }

  #write(event: MessageInitShape<typeof EventSchema>): void {
    const data = toBinary(EventSchema, create(EventSchema, { wallTime: Date.now() / 1000, ...event }));
    attempt(this.#path, "written", () => writeWhole(this.#file, encodeRecord(data)));
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** The tags that a folder's files have for one step. @throws MP_IO */
export function tagsAt(folder: string, step: number): ReadonlySet<string> {
  return attempt(folder, "read", () => {
    mkdirSync(folder, { recursive: true });
    const files = readdirSync(folder).filter((name) => NAME.test(name));
    const records = files.flatMap((name) => [...recordsIn(readFileSync(join(folder, name)))]);
    const tags = records.flatMap((record) => {
      const { step: at, what } = fromBinary(EventSchema, record);
      return at === BigInt(step) && what.case === "summary" ? what.value.value.map(({ tag }) => tag) : [];
    });
    return new Set(tags);
  });
}

/** A file name that sorts after all others, even within one second, because TensorBoard reads files in that order. */
function nextName(names: readonly string[]): string {
  const times = names.map((name) => Number(NAME.exec(name)?.[1] ?? 0));
  const seconds = Math.max(Math.floor(Date.now() / 1000), ...times.map((time) => time + 1));
  const host = hostname().replaceAll(/[^A-Za-z0-9-]/g, "-");
  return `events.out.tfevents.${String(seconds).padStart(10, "0")}.${host}.${process.pid}.mp`;
}
