import { OPS, type Op, opTable } from "@mp/graph";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CAST_CATEGORIES } from "../../../graph/src/graph/category.js";
import {
  bfloat16Policy,
  type CastingPolicy,
  castingPolicy,
  float16Policy,
  float32Policy,
  formatCastingPolicy,
  isPure,
  lowDType,
  manualPolicy,
  mixedBfloat16Policy,
  mixedFloat16Policy,
  overrideFor,
  parseCastingPolicy,
} from "./policy.js";

const freeOps = OPS.filter((op) => opTable[op].cast.f16 !== "fixed");

describe("presets", () => {
  it.each([
    [float32Policy, "params=f32,compute=f32,output=f32", undefined, false],
    [mixedFloat16Policy, "params=f32,compute=f16,output=f32", "f16", false],
    [mixedBfloat16Policy, "params=f32,compute=bf16,output=f32", "bf16", false],
    [float16Policy, "params=f16,compute=f16,output=f16", "f16", true],
    [bfloat16Policy, "params=bf16,compute=bf16,output=bf16", "bf16", true],
    [manualPolicy, "params=f32,compute=manual,output=f32", undefined, false],
  ] as const)("%s", (policy, text, low, pure) => {
    expect(String(policy)).toBe(text);
    expect(String(parseCastingPolicy(text))).toBe(text);
    expect(lowDType(policy)).toBe(low);
    expect(isPure(policy)).toBe(pure);
  });
});

describe("policy.with", () => {
  it("changes a copy, the last word on an op or a scope counting", () => {
    const strict = mixedFloat16Policy.with({ ops: { Gelu: "f32" }, output: "f16" });
    const both = strict.with({ ops: { Gelu: "low", Add: "infer" }, scopes: { "decoder/head": "f32" } });
    expect(String(mixedFloat16Policy)).toBe("params=f32,compute=f16,output=f32");
    expect(String(strict)).toBe("params=f32,compute=f16,output=f16,Gelu=f32");
    expect(String(both)).toBe("params=f32,compute=f16,output=f16,@decoder/head=f32,Add=infer,Gelu=low");
    expect(String(both.with({ compute: "f32" }))).toContain("compute=f32,output=f16,@decoder");
  });

  it("does not depend on the order in which overrides are given", () => {
    const a = mixedFloat16Policy.with({ ops: { Add: "f32", Gelu: "low" } });
    const b = mixedFloat16Policy.with({ ops: { Gelu: "low" } }).with({ ops: { Add: "f32" } });
    expect(String(a)).toBe(String(b));
  });

  it("prefers the longest scope, and within it the override that names the op", () => {
    const policy = mixedFloat16Policy.with({
      ops: { Softmax: "infer" },
      scopes: { net: { Softmax: "low", Add: "low" }, "net/head": "f32", "net/head/last": { Add: "deny" } },
    });
    const decided = (op: Op, scope: string) => overrideFor(policy, op, scope)?.category;
    expect(decided("Softmax", "")).toBe("infer");
    expect(decided("Softmax", "network")).toBe("infer");
    expect(decided("Softmax", "net")).toBe("low");
    expect(decided("Softmax", "net/body")).toBe("low");
    expect(decided("Softmax", "net/head")).toBe("f32");
    expect(decided("Add", "net/head/last")).toBe("deny");
    expect(decided("Mul", "net/head/last/inner")).toBe("f32");
    expect(decided("Mul", "net")).toBeUndefined();
    for (const both of [
      policy.with({ scopes: { net: "f32" } }),
      policy.with({ scopes: { "net/head": { Add: "low" } } }),
    ]) {
      const scope = both.overrides.some(({ scope, op }) => scope === "net" && op === undefined)
        ? "net"
        : "net/head";
      expect([overrideFor(both, "Add", scope)?.category, overrideFor(both, "Mul", scope)?.category]).toEqual([
        "low",
        "f32",
      ]);
    }
  });

  it.each([
    [
      () => castingPolicy({ compute: "f64" as "f32" }),
      /compute must be one of f32, f16, bf16, or manual, got f64/,
    ],
    [
      () => castingPolicy({ compute: "f16", output: "i32" as "f32" }),
      /output must be one of f32, f16, bf16, got i32/,
    ],
    [() => mixedFloat16Policy.with({ ops: { Cast: "f32" } }), /Cast is as the user wrote it/],
    [
      () => mixedFloat16Policy.with({ ops: { Softmux: "f32" } as object }),
      /Softmux is no operator; did you mean Softmax\? operators have/,
    ],
    [
      () => mixedFloat16Policy.with({ ops: { matMul: "f32" } as object }),
      /matMul is no operator; did you mean MatMul\? operators have their ONNX names/,
    ],
    [() => castingPolicy({ compute: "float16" as "f16" }), /got float16; did you mean f16\?$/],
    [
      () => mixedFloat16Policy.with({ scopes: { net: "f16" as "low" } }),
      /@net must be one of low, f32.*got f16/,
    ],
    [() => mixedFloat16Policy.with({ scopes: { "net/": "low" } }), /"net\/" is no scope path/],
    [() => mixedFloat16Policy.with({ scopes: { "": "low" } }), /"" is no scope path/],
  ])("refuses %s", (make, message) => {
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }));
  });
});

describe("the string form", () => {
  it("is two-way for every policy", () => {
    const dtype = fc.constantFrom("f32" as const, "f16" as const, "bf16" as const);
    const category = fc.constantFrom(...CAST_CATEGORIES);
    const ops = fc.dictionary(fc.constantFrom(...freeOps), category, { maxKeys: 4 });
    const name = fc.string({ minLength: 1, maxLength: 6 }).filter((text) => !text.includes("/"));
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join("/"));
    const policies: fc.Arbitrary<CastingPolicy> = fc
      .record({
        parameters: dtype,
        compute: fc.oneof(dtype, fc.constant("manual" as const)),
        output: dtype,
        ops,
        scopes: fc.dictionary(path, fc.oneof(category, ops), { maxKeys: 3 }),
      })
      .map((options) => castingPolicy(options));
    fc.assert(
      fc.property(policies, (policy) => {
        const again = parseCastingPolicy(formatCastingPolicy(policy));
        expect(again.overrides).toEqual(policy.overrides);
        expect(String(again)).toBe(String(policy));
      }),
    );
  });

  it("reads long names and spaces", () => {
    expect(String(parseCastingPolicy(" params=float32, compute = bfloat16, output=float16 "))).toBe(
      "params=f32,compute=bf16,output=f16",
    );
  });

  it.each([
    ["", /"" is not key=value/],
    ["mixed_float16", /"mixed_float16" is not key=value/],
    ["params=f32,compute=f16", /output is missing; the form is params=f32,compute=f16,output=f32/],
    ["params=f32,compute=f16,output=f32,compute=f32", /compute is given twice/],
    ["params=f32,compute=fp16,output=f32", /compute must be one of f32, f16, bf16, or manual, got fp16/],
    ["params=manual,compute=f16,output=f32", /parameters must be one of f32, f16, bf16, got manual/],
    ["params=f32,compute=f16,output=f32,Softmux=low", /Softmux is none of params, compute, output, an op/],
    [
      "params=f32,compute=f16,output=f32,@net:Softmux=low",
      /Softmux is no operator; did you mean Softmax\? operators have/,
    ],
    ["params=f32,compute=f16,output=f32,@net=half", /@net must be one of low, f32.*got half/],
    ["params=f32,compute=f16,output=f32,@net%zz=low", /@net%zz is badly escaped/],
    ["params=f32,compute=f16,output=f32,@a:Add:b=low", /@a:Add:b is no @scope or @scope:Op/],
    ["params=f32=f16,compute=f16,output=f32", /"params=f32=f16" is not key=value/],
  ])("refuses %j", (text, message) => {
    expect(() => parseCastingPolicy(text)).toThrow(message);
    expect(() => parseCastingPolicy(text)).toThrow(expect.objectContaining({ code: "MP_PARSE" }));
  });
});
