/** The engine in a separate process, so that a fatal signal is a result like any other. */
import { type ChildProcess, spawn } from "node:child_process";
import type { HostTensor, Op, OpAttributes } from "@mp/graph";

export interface SingleNode {
  readonly op: Op;
  readonly attributes: OpAttributes[Op];
  readonly inputs: readonly HostTensor[];
}

/** The outcome of a node: its results, the code of an error, or the end of the process. */
export type Answer =
  | { readonly results: readonly HostTensor[] }
  | { readonly code: string; readonly message: string }
  | { readonly died: string };

/** On the built package, as a user's process has it. */
const PROGRAM = `
const [{ ort }, { GraphBuilder }] = await Promise.all(process.argv.slice(1).map((url) => import(url)));
const backend = await ort();
process.on("message", async ({ op, attributes, inputs }) => {
  try {
    const builder = new GraphBuilder();
    const operands = inputs.map((input, index) => builder.input("x" + index, input, "batch"));
    const outputs = builder.emit(op, operands, attributes);
    const graph = builder.finish(Object.fromEntries(outputs.map((value, index) => ["y" + index, value])));
    const executable = await backend.compile(graph);
    try {
      const fed = Object.fromEntries(inputs.map((input, index) => ["x" + index, input]));
      const results = await executable.run(fed);
      process.send({ results: outputs.map((_, index) => results["y" + index]) });
    } finally {
      await executable.dispose();
    }
  } catch (error) {
    process.send({ code: String(error.code), message: String(error.message) });
  }
});
process.send("ready");
`;

const modules = ["../../dist/index.js", "../../../core/dist/graph.js"].map((path) =>
  new URL(path, import.meta.url).toString(),
);

export class EngineProcess {
  #child: ChildProcess | undefined;

  /** One node at a time; a process that died is restarted for the next. */
  async run(node: SingleNode): Promise<Answer> {
    this.#child ??= await this.#start();
    const child = this.#child;
    const answer = await new Promise<Answer>((resolve) => {
      child.once("message", (message) => resolve(message as Answer));
      child.once("exit", (code, signal) => resolve({ died: signal ?? `exit code ${code}` }));
      child.send(node);
    });
    child.removeAllListeners("message");
    child.removeAllListeners("exit");
    if ("died" in answer) this.#child = undefined;
    return answer;
  }

  stop(): void {
    this.#child?.kill();
    this.#child = undefined;
  }

  async #start(): Promise<ChildProcess> {
    const child = spawn(process.execPath, ["--input-type=module", "-e", PROGRAM, ...modules], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      serialization: "advanced",
    });
    await new Promise<void>((resolve, reject) => {
      child.once("message", () => resolve());
      child.once("exit", (code, signal) => reject(new Error(`the engine did not start: ${signal ?? code}`)));
    });
    child.removeAllListeners("exit");
    return child;
  }
}
