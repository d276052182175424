import { preset } from "@mp/build/tsup";

export default preset({
  index: "src/index.ts",
  tokenizer: "src/tokenizer/index.ts",
  worker: "src/tokenizer/chat-worker.ts",
});
