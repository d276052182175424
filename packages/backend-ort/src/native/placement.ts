import koffi from "koffi";
import type { NativeSession } from "./session.js";

/** A node of a loaded model and the provider that runs it. */
export interface PlacedNode {
  readonly node: string;
  readonly op: string;
  /** The execution provider's name, such as "CPUExecutionProvider". */
  readonly provider: string;
}

/** Session configuration entries that `placement` requires. */
export const RECORD_PLACEMENT: Readonly<Record<string, string>> = {
  "session.record_ep_graph_assignment_info": "1",
};

/** Session configuration entries that make loading fail if a node would run on the processor. */
export const ON_DEVICE_ONLY: Readonly<Record<string, string>> = { "session.disable_cpu_ep_fallback": "1" };

export const PROCESSOR = "CPUExecutionProvider";

/** Lists the provider of each node, for a session created with `RECORD_PLACEMENT`. */
export function placement(session: NativeSession): readonly PlacedNode[] {
  const { functions, check, make } = session.library;
  const list = (call: (out: BigUint64Array, count: BigUint64Array) => bigint | null): readonly bigint[] => {
    const [first, count] = [new BigUint64Array(1), new BigUint64Array(1)];
    check(call(first, count), "placement");
    const size = Number(count[0]);
    return size === 0 ? [] : (koffi.decode(first[0] ?? 0n, "void *", size) as bigint[]);
  };
  const text = (call: (out: BigUint64Array) => bigint | null): string =>
    koffi.decode.string(make("placement", call));
  return list((out, count) => functions.Session_GetEpGraphAssignmentInfo(session.handle, out, count)).flatMap(
    (part) => {
      const provider = text((out) => functions.EpAssignedSubgraph_GetEpName(part, out));
      return list((out, count) => functions.EpAssignedSubgraph_GetNodes(part, out, count)).map((node) => ({
        node: text((out) => functions.EpAssignedNode_GetName(node, out)),
        op: text((out) => functions.EpAssignedNode_GetOperatorType(node, out)),
        provider,
      }));
    },
  );
}
