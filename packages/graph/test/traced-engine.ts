// An engine that runs whole graphs and keeps account: of every storage, and of the order in which hooks are called.

import { defineBackend } from "../src/backend/define-backend.js";
import type { BackendHooks, Program } from "../src/backend/hooks.js";
import { deriveManifest, exactNumerics } from "../src/backend/manifest.js";
import type { Backend } from "../src/contract/backend.js";
import type { BackendManifest } from "../src/contract/manifest.js";
import type { Graph } from "../src/graph/graph.js";
import type { HostTensor } from "../src/host/host-tensor.js";
import { evaluate } from "../src/reference/index.js";

/** A tensor in the engine's memory. */
export interface Block {
  readonly tensor: HostTensor;
}

export type EngineHooks = Partial<BackendHooks<Block, Block[]>>;

export interface Account {
  /** Hooks and what they did, in order. */
  readonly events: string[];
  /** Blocks that were not released. */
  readonly live: ReadonlySet<Block>;
  readonly make: (tensor: HostTensor) => Block;
}

export interface TracedEngine extends Account {
  readonly backend: Backend;
}

const tracedManifest: BackendManifest = {
  ...deriveManifest(
    {
      ...exactNumerics,
      engine: { name: "traced", version: "1" },
      device: "cpu",
      dtypes: {
        f32: { storage: "f32", compute: "native" },
        bool: { storage: "bool", compute: "native" },
      },
      tolerance: { default: { f32: 0, f16: 0, bf16: 0 } },
      eventLoop: "free",
    },
    () => true,
  ),
  profile: { unsupported: "it has none" },
  memory: { unsupported: "it has none" },
};

const copyOf = (tensor: HostTensor): HostTensor => ({ ...tensor, data: tensor.data.slice() }) as HostTensor;

export function tracedEngine(change: (account: Account) => EngineHooks = () => ({})): TracedEngine {
  const events: string[] = [];
  const live = new Set<Block>();
  const make = (tensor: HostTensor): Block => {
    const block = { tensor: copyOf(tensor) };
    live.add(block);
    return block;
  };
  const used = (block: Block): HostTensor => {
    if (!live.has(block)) throw new Error("used after its release");
    return block.tensor;
  };
  const compute = (graph: Graph): Program<Block> => ({
    run: (inputs) => {
      events.push("run");
      const fed = Object.entries(inputs).map(([name, block]) => [name, used(block)] as const);
      const results = Object.entries(evaluate(graph, Object.fromEntries(fed)));
      return Object.fromEntries(results.map(([name, value]) => [name, make(value)]));
    },
    dispose: () => void events.push("program ended"),
  });
  const account: Account = { events, live, make };
  const backend = defineBackend<Block, Block[]>({
    name: "traced",
    manifest: tracedManifest,
    upload: make,
    download: (block) => copyOf(used(block)),
    release: (block) => {
      if (!live.delete(block)) throw new Error("released twice");
    },
    compile: compute,
    close: () => void events.push("closed"),
    ...change(account),
  });
  return { ...account, backend };
}
