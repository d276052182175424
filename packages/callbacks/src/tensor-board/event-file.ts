import { closeSync, mkdirSync, openSync, readdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { notDone, writeWhole } from "../log/log-file.js";
import { EventSchema, SessionLog_SessionStatus, type SummarySchema } from "../proto/event_pb.js";
import { recordOf, recordsIn } from "./records.js";

/** A value by its tag, as `Summary.Value` has it. */
export type TaggedValue = NonNullable<MessageInitShape<typeof SummarySchema>["value"]>[number];

const NAME = /^events\.out\.tfevents\.(\d+)\./;

/**
 * A new event file in a folder of TensorBoard's. It is only appended to, and each event is written whole before the next
 * step begins, so it is readable at any moment; half an event, which a kill can leave, ends what TensorBoard reads of it.
 */
export class EventFile {
  readonly #path: string;
  readonly #file: number;

  private constructor(path: string, file: number) {
    this.#path = path;
    this.#file = file;
  }

  /**
   * With the first events of a file. After `step` iterations of a run that was resumed it says that the run started
   * there: TensorBoard then drops what older files have of later steps.
   * @throws MP_IO
   */
  static open(folder: string, step: number): EventFile {
    let file: EventFile | undefined;
    try {
      mkdirSync(folder, { recursive: true });
      const path = join(folder, nextName(readdirSync(folder)));
      file = new EventFile(path, openSync(path, "ax"));
      file.#write({ step: 0n, what: { case: "fileVersion", value: "brain.Event:2" } });
      if (step > 0) {
        const value = { status: SessionLog_SessionStatus.START };
        file.#write({ step: BigInt(step + 1), what: { case: "sessionLog", value } });
      }
      return file;
    } catch (error) {
      file?.close();
      throw notDone(folder, "written", error);
    }
  }

  /** One event of all of the values. @throws MP_IO */
  write(step: number, values: readonly TaggedValue[]): void {
    if (values.length === 0) return;
    try {
      this.#write({ step: BigInt(step), what: { case: "summary", value: { value: [...values] } } });
    } catch (error) {
      throw notDone(this.#path, "written", error);
    }
  }

  #write(event: MessageInitShape<typeof EventSchema>): void {
    const data = toBinary(EventSchema, create(EventSchema, { wallTime: Date.now() / 1000, ...event }));
    writeWhole(this.#file, recordOf(data));
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** The tags that a folder's files have of one step. @throws MP_IO */
export function tagsAt(folder: string, step: number): ReadonlySet<string> {
  const tags = new Set<string>();
  try {
    mkdirSync(folder, { recursive: true });
    for (const name of readdirSync(folder).filter((name) => NAME.test(name))) {
      for (const record of recordsIn(readFileSync(join(folder, name)))) {
        const event = fromBinary(EventSchema, record);
        if (event.step !== BigInt(step) || event.what.case !== "summary") continue;
        for (const { tag } of event.what.value.value) tags.add(tag);
      }
    }
  } catch (error) {
    throw notDone(folder, "read", error);
  }
  return tags;
}

/** TensorBoard reads the files of a folder in the order of their names: the new one comes last, also within a second. */
function nextName(names: readonly string[]): string {
  const times = names.map((name) => Number(NAME.exec(name)?.[1] ?? 0));
  const seconds = Math.max(Math.floor(Date.now() / 1000), ...times.map((time) => time + 1));
  const host = hostname().replaceAll(/[^A-Za-z0-9-]/g, "-");
  return `events.out.tfevents.${String(seconds).padStart(10, "0")}.${host}.${process.pid}.mp`;
}
