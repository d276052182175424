import { buildApp } from "@mp/build";

await buildApp({
  main: "src/main.ts",
  child: "src/child.ts",
  models: "src/models.ts",
  "node-tests": "src/node-tests.ts",
  scaling: "src/scaling.ts",
  step: "src/step.ts",
  "two-ranks": "src/scaling/two-ranks.ts",
  "data-parallel": "src/data-parallel.ts",
  "rank-steps": "src/data-parallel/rank-steps.ts",
  "cached-token": "src/cached-token.ts",
  "lora-step": "src/lora-step.ts",
  recipes: "src/recipes.ts",
});
