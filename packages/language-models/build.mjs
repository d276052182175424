import { buildPackage } from "@mp/build";

await buildPackage({
  index: "src/index.ts",
  tokenizer: "src/tokenizer/index.ts",
  worker: "src/tokenizer/chat-worker.ts",
});
