import { describe, expect, it } from "vitest";
import { attention, graphOf, handLoss, lstm, mlp, nets } from "../../test/traced-nets.js";
import {
  bfloat16Policy,
  float16Policy,
  float32Policy,
  manualPolicy,
  mixedBfloat16Policy,
  mixedFloat16Policy,
} from "../casting-policy.js";
import { printGraph } from "../graph/print.js";
import { add, cast, exp, gelu, literal, log, mul, relu, where } from "../trace/ops/elementwise.js";
import { matMul } from "../trace/ops/matrix.js";
import { softmaxCrossEntropyLoss } from "../trace/ops/normalization.js";
import { scope, withSegment } from "../trace/trace.js";
import { autocastGraph } from "./autocast.js";

const half = (graph: Parameters<typeof autocastGraph>[0]): string =>
  printGraph(autocastGraph(graph, mixedFloat16Policy));

describe("mixed f16", () => {
  it("lowers an MLP between its products and leaves the loss in f32", () => {
    expect(half(mlp())).toMatchInlineSnapshot(`
      "%0 = parameter "w0" : f32[4, 8]
      %1 = parameter "b0" : f32[8]
      %2 = parameter "w1" : f32[8, 3]
      %3 = parameter "b1" : f32[3]
      %4 = batch "x" : f32[2, 4]
      %5 = batch "y" : i32[2]
      %6:f16[2, 4] = Cast(%4) {to=f16}  # hidden
      %7:f16[4, 8] = Cast(%0) {to=f16}  # hidden
      %8:f16[2, 8] = MatMul(%6, %7)  # hidden
      %9:f16[8] = Cast(%1) {to=f16}  # hidden
      %10:f16[2, 8] = Add(%8, %9)  # hidden
      %11:f16[2, 8] = Gelu(%10) {approximate=none}  # hidden
      %12:f16[8, 3] = Cast(%2) {to=f16}  # out
      %13:f16[2, 3] = MatMul(%11, %12)  # out
      %14:f16[3] = Cast(%3) {to=f16}  # out
      %15:f16[2, 3] = Add(%13, %14)  # out
      %16:f32[2, 3] = Cast(%15) {to=f32}
      %17:f32[], %18:f32[2, 3] = SoftmaxCrossEntropyLoss(%16, %5) {reduction=mean}
      return "result" %17
      "
    `);
  });

  it("keeps an LSTM's f32 cell in f32, and cuts and joins in f16", () => {
    expect(half(lstm())).toMatchInlineSnapshot(`
      "%0 = parameter "w" : f32[6, 8]
      %1 = parameter "b" : f32[8]
      %2 = batch "x" : f32[2, 2, 4]
      %3 = batch "h" : f32[2, 2]
      %4 = batch "c" : f32[2, 2]
      %5:f16[2, 2, 4] = Cast(%2) {to=f16}
      %6:f16[1, 2, 4], %7:f16[1, 2, 4] = Split(%5) {axis=0 split=[1,1]}
      %8:f16[2, 4] = Reshape(%6) {shape=[2,4]}
      %9:f16[2, 2] = Cast(%3) {to=f16}
      %10:f16[2, 6] = Concat(%8, %9) {axis=1}
      %11:f16[6, 8] = Cast(%0) {to=f16}
      %12:f16[2, 8] = MatMul(%10, %11)
      %13:f16[8] = Cast(%1) {to=f16}
      %14:f16[2, 8] = Add(%12, %13)
      %15:f16[2, 2], %16:f16[2, 2], %17:f16[2, 2], %18:f16[2, 2] = Split(%14) {axis=1 split=[2,2,2,2]}
      %19:f16[2, 2] = Sigmoid(%16)
      %20:f32[2, 2] = Cast(%19) {to=f32}
      %21:f32[2, 2] = Mul(%20, %4)
      %22:f16[2, 2] = Sigmoid(%15)
      %23:f16[2, 2] = Tanh(%17)
      %24:f16[2, 2] = Mul(%22, %23)
      %25:f32[2, 2] = Cast(%24) {to=f32}
      %26:f32[2, 2] = Add(%21, %25)
      %27:f16[2, 2] = Sigmoid(%18)
      %28:f32[2, 2] = Tanh(%26)
      %29:f32[2, 2] = Cast(%27) {to=f32}
      %30:f32[2, 2] = Mul(%29, %28)
      %31:f16[2, 4] = Reshape(%7) {shape=[2,4]}
      %32:f16[2, 2] = Cast(%30) {to=f16}
      %33:f16[2, 6] = Concat(%31, %32) {axis=1}
      %34:f16[2, 8] = MatMul(%33, %11)
      %35:f16[2, 8] = Add(%34, %13)
      %36:f16[2, 2], %37:f16[2, 2], %38:f16[2, 2], %39:f16[2, 2] = Split(%35) {axis=1 split=[2,2,2,2]}
      %40:f16[2, 2] = Sigmoid(%37)
      %41:f32[2, 2] = Cast(%40) {to=f32}
      %42:f32[2, 2] = Mul(%41, %26)
      %43:f16[2, 2] = Sigmoid(%36)
      %44:f16[2, 2] = Tanh(%38)
      %45:f16[2, 2] = Mul(%43, %44)
      %46:f32[2, 2] = Cast(%45) {to=f32}
      %47:f32[2, 2] = Add(%42, %46)
      %48:f16[2, 2] = Sigmoid(%39)
      %49:f32[2, 2] = Tanh(%47)
      %50:f32[2, 2] = Cast(%48) {to=f32}
      %51:f32[2, 2] = Mul(%50, %49)
      return "c" %47
      return "h" %51
      "
    `);
  });

  it("keeps an attention block's residual stream in f32", () => {
    expect(half(attention())).toMatchInlineSnapshot(`
      "%0 = parameter "table" : f32[7, 4]
      %1 = parameter "scale" : f32[4]
      %2 = parameter "bias" : f32[4]
      %3 = parameter "q" : f32[4, 4]
      %4 = parameter "k" : f32[4, 4]
      %5 = parameter "v" : f32[4, 4]
      %6 = parameter "o" : f32[4, 4]
      %7 = batch "ids" : i32[3]
      %8:f32[3, 4] = Gather(%0, %7) {axis=0}
      %9:f32[3, 4], %10:f32[3, 1], %11:f32[3, 1] = LayerNormalization(%8, %1, %2) {axis=1 epsilon=0.00001}
      %12:f16[3, 4] = Cast(%9) {to=f16}
      %13:f16[4, 4] = Cast(%3) {to=f16}
      %14:f16[3, 4] = MatMul(%12, %13)
      %15:f16[4, 4] = Cast(%4) {to=f16}
      %16:f16[3, 4] = MatMul(%12, %15)
      %17:f16[4, 3] = Transpose(%16) {perm=[1,0]}
      %18:f16[3, 3] = MatMul(%14, %17)
      %19:f16[] = Constant() {value=f16[](14336) literal=0.5}
      %20:f16[3, 3] = Mul(%18, %19)
      %21:f32[3, 3] = Cast(%20) {to=f32}
      %22:f32[3, 3] = Softmax(%21) {axis=1}
      %23:f16[4, 4] = Cast(%5) {to=f16}
      %24:f16[3, 4] = MatMul(%12, %23)
      %25:f16[3, 3] = Cast(%22) {to=f16}
      %26:f16[3, 4] = MatMul(%25, %24)
      %27:f16[4, 4] = Cast(%6) {to=f16}
      %28:f16[3, 4] = MatMul(%26, %27)
      %29:f32[3, 4] = Cast(%28) {to=f32}
      %30:f32[3, 4] = Add(%8, %29)
      return "result" %30
      "
    `);
  });

  it("lets exp contaminate what it reaches", () => {
    expect(half(handLoss())).toMatchInlineSnapshot(`
      "%0 = parameter "w" : f32[4, 3]
      %1 = batch "x" : f32[2, 4]
      %2 = batch "target" : f32[2, 3]
      %3:f16[2, 4] = Cast(%1) {to=f16}
      %4:f16[2, 4] = Relu(%3)
      %5:f16[4, 3] = Cast(%0) {to=f16}
      %6:f16[2, 3] = MatMul(%4, %5)
      %7:f16[2, 1] = ReduceMax(%6) {axes=[1] keepdims=true}
      %8:f16[2, 3] = Sub(%6, %7)
      %9:f32[2, 3] = Cast(%8) {to=f32}
      %10:f32[2, 3] = Exp(%9)
      %11:f32[2, 1] = ReduceSum(%10) {axes=[1] keepdims=true}
      %12:f32[2, 3] = Div(%10, %11)
      %13:f32[2, 3] = Gelu(%12) {approximate=none}
      %14:f32[2, 3] = Mul(%13, %2)
      %15:f32[] = ReduceSum(%14) {axes=[0,1] keepdims=false}
      return "error" %15
      return "p" %12
      "
    `);
  });
});

describe("mixed bf16", () => {
  it("has f32's range: exponentials and softmax between products are low, sums are not", () => {
    expect(printGraph(autocastGraph(attention(), mixedBfloat16Policy))).toMatchInlineSnapshot(`
      "%0 = parameter "table" : f32[7, 4]
      %1 = parameter "scale" : f32[4]
      %2 = parameter "bias" : f32[4]
      %3 = parameter "q" : f32[4, 4]
      %4 = parameter "k" : f32[4, 4]
      %5 = parameter "v" : f32[4, 4]
      %6 = parameter "o" : f32[4, 4]
      %7 = batch "ids" : i32[3]
      %8:f32[3, 4] = Gather(%0, %7) {axis=0}
      %9:f32[3, 4], %10:f32[3, 1], %11:f32[3, 1] = LayerNormalization(%8, %1, %2) {axis=1 epsilon=0.00001}
      %12:bf16[3, 4] = Cast(%9) {to=bf16}
      %13:bf16[4, 4] = Cast(%3) {to=bf16}
      %14:bf16[3, 4] = MatMul(%12, %13)
      %15:bf16[4, 4] = Cast(%4) {to=bf16}
      %16:bf16[3, 4] = MatMul(%12, %15)
      %17:bf16[4, 3] = Transpose(%16) {perm=[1,0]}
      %18:bf16[3, 3] = MatMul(%14, %17)
      %19:bf16[] = Constant() {value=bf16[](16128) literal=0.5}
      %20:bf16[3, 3] = Mul(%18, %19)
      %21:bf16[3, 3] = Softmax(%20) {axis=1}
      %22:bf16[4, 4] = Cast(%5) {to=bf16}
      %23:bf16[3, 4] = MatMul(%12, %22)
      %24:bf16[3, 4] = MatMul(%21, %23)
      %25:bf16[4, 4] = Cast(%6) {to=bf16}
      %26:bf16[3, 4] = MatMul(%24, %25)
      %27:f32[3, 4] = Cast(%26) {to=f32}
      %28:f32[3, 4] = Add(%8, %27)
      return "result" %28
      "
    `);
    expect(printGraph(autocastGraph(handLoss(), mixedBfloat16Policy))).toMatchInlineSnapshot(`
      "%0 = parameter "w" : f32[4, 3]
      %1 = batch "x" : f32[2, 4]
      %2 = batch "target" : f32[2, 3]
      %3:bf16[2, 4] = Cast(%1) {to=bf16}
      %4:bf16[2, 4] = Relu(%3)
      %5:bf16[4, 3] = Cast(%0) {to=bf16}
      %6:bf16[2, 3] = MatMul(%4, %5)
      %7:bf16[2, 1] = ReduceMax(%6) {axes=[1] keepdims=true}
      %8:bf16[2, 3] = Sub(%6, %7)
      %9:bf16[2, 3] = Exp(%8)
      %10:f32[2, 3] = Cast(%9) {to=f32}
      %11:f32[2, 1] = ReduceSum(%10) {axes=[1] keepdims=true}
      %12:f32[2, 3] = Div(%10, %11)
      %13:f32[2, 3] = Gelu(%12) {approximate=none}
      %14:f32[2, 3] = Mul(%13, %2)
      %15:f32[] = ReduceSum(%14) {axes=[0,1] keepdims=false}
      return "error" %15
      return "p" %12
      "
    `);
  });
});
