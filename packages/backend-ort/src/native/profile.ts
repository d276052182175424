import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MpError } from "@mp/graph";
import { type NativeBinding, withoutRecording } from "./binding.js";

/** One execution of a node; events are sorted by when they began. */
export interface NodeEvent {
  readonly node: string;
  readonly op: string;
  readonly startMicroseconds: number;
  readonly microseconds: number;
  /** The execution provider's name, such as "CPUExecutionProvider". */
  readonly provider: string;
  /** Arena bytes in use when the node ended, including inputs; the largest value is the peak of the run. */
  readonly arenaBytes: number;
}

/**
 * Runs a binding once with the engine's profiler. The profiler belongs to the run, not to the session, so
 * other runs are not slowed. It writes a file, which is read and removed.
 * @throws whatever the run throws; MP_PARSE if the format of the engine's file has changed
 */
export async function profileRun(binding: NativeBinding): Promise<readonly NodeEvent[]> {
  const { functions, check, make } = binding.session.library;
  const folder = await mkdtemp(join(tmpdir(), "mp-profile-"));
  const runOptions = make("run options", (out) => functions.CreateRunOptions(out));
  try {
    withoutRecording(binding.session.library, runOptions);
    check(functions.RunOptionsEnableProfiling(runOptions, join(folder, "run")), "profile");
    await binding.runAsync(runOptions);
    const [file] = await readdir(folder);
    if (file === undefined) throw new MpError("MP_PARSE", "profile: the engine wrote no file");
    return parseProfile(await readFile(join(folder, file), "utf8"));
  } finally {
    functions.ReleaseRunOptions(runOptions);
    await rm(folder, { recursive: true, force: true });
  }
}

const NODE_SUFFIX = "_kernel_time";

/** Category of GPU events. If there are any, `Node` events time only how the processor submits the work. */
const ON_GPU = "Api";

/** Reads the trace-event JSON of ORT's profiler and keeps the events of nodes. @throws MP_PARSE */
export function parseProfile(text: string): readonly NodeEvent[] {
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch (cause) {
    throw new MpError("MP_PARSE", "profile: the engine's file is no JSON", { cause });
  }
  if (!Array.isArray(entries)) throw new MpError("MP_PARSE", "profile: the engine's file holds no list");
  const onGpu = entries.flatMap(gpuEvent);
  const events: readonly NodeEvent[] = onGpu.length > 0 ? onGpu : entries.flatMap(nodeEvent);
  return events.toSorted((a, b) => a.startMicroseconds - b.startMicroseconds);
}

interface TraceEvent {
  readonly cat?: unknown;
  readonly name?: unknown;
  readonly ts?: unknown;
  readonly dur?: unknown;
  readonly args?: {
    readonly op_name?: unknown;
    readonly provider?: unknown;
    readonly mem_bytes_in_use?: unknown;
  };
}

function times({ name, ts, dur }: TraceEvent): Pick<NodeEvent, "startMicroseconds" | "microseconds"> {
  if (typeof ts !== "number" || typeof dur !== "number")
    throw new MpError("MP_PARSE", `profile: the entry of ${String(name)} has no times`);
  return { startMicroseconds: ts, microseconds: dur };
}

function nodeEvent(entry: TraceEvent): NodeEvent[] {
  const { cat, name, args } = entry;
  if (cat !== "Node" || typeof name !== "string" || !name.endsWith(NODE_SUFFIX)) return [];
  return [
    {
      node: name.slice(0, -NODE_SUFFIX.length),
      op: String(args?.op_name ?? ""),
      ...times(entry),
      provider: String(args?.provider ?? ""),
      arenaBytes: Number(args?.mem_bytes_in_use ?? 0),
    },
  ];
}

/** The WebGPU provider's name of a GPU program, `node&op&program`; a node runs one or more programs. */
const PROGRAM = /^(.*)&([^&]*)&[^&]*$/;

function gpuEvent(entry: TraceEvent): NodeEvent[] {
  const { cat, name } = entry;
  if (cat !== ON_GPU || typeof name !== "string") return [];
  const [, node, op] = PROGRAM.exec(name) ?? [];
  if (node === undefined || op === undefined) return [];
  return [{ node, op, ...times(entry), provider: "WebGpuExecutionProvider", arenaBytes: 0 }];
}
