import { preset } from "@mp/build/tsup";

export default preset({ index: "src/index.ts", nccl: "src/nccl/index.ts", "mp-mpi": "src/command/main.ts" });
