import { buildPackage } from "@mp/build";

await buildPackage({ index: "src/index.ts", nccl: "src/nccl/index.ts", "mp-mpi": "src/command/main.ts" });
