import { encodeModel, onnxModel, onnxGraph, onnxNode } from "@mp/onnx/write";
import * as ort from "onnxruntime-node";
const f32 = (a, shape=[]) => ({ dtype: "f32", shape, data: Float32Array.from(a) });
const i32 = (a) => ({ dtype: "i32", shape: [], data: Int32Array.from(a) });
const i64 = (a) => ({ dtype: "i64", shape: [a.length], data: BigInt64Array.from(a.map(BigInt)) });
const N = +(process.argv[3] ?? 1<<20), T = +(process.argv[2] ?? 1);
const shape=[1024, N/1024];
class B { constructor(){this.nodes=[];this.inits=[];this.k=0;}
  c(t){ const n="c"+this.k++; this.inits.push({name:n,tensor:t}); return n;}
  s(v){ return this.c(f32([v])); }
  o(op, ins, attributes={}){ const n="v"+this.k++; this.nodes.push(onnxNode(op, ins, [n], {name:n, attributes})); return n; } }
const to = (v)=>({to:{kind:"int",value:BigInt(v)}}), sat0 = {...to(17), saturate:{kind:"int",value:0n}};
async function bench(name, f, opset=23) {
  const b = new B(); const y = f(b, "x"); const r = b.o("ReduceMax", [y], {keepdims:{kind:"int",value:0n}});
  const g = onnxGraph("g", { inputs:[{name:"x",type:{elementType:"f32",shape},metadata:{}}], outputs:[{name:r,type:{elementType:"f32",shape:[]},metadata:{}}], initializers:b.inits, nodes:b.nodes });
  let s;
  try { s = await ort.InferenceSession.create(encodeModel(onnxModel(g,{opsets:{"":opset}, irVersion: opset>23?13:11})), { intraOpNumThreads:T, graphOptimizationLevel:"disabled", enableCpuMemArena:true, executionMode:"sequential", logSeverityLevel: 4}); } catch(e) { console.log(name.padEnd(40), String(e.message).slice(0,200)); return; }
  const x = new ort.Tensor("float32", Float32Array.from({length:N},(_, i)=>(Math.random()+Math.random()-1)*448), shape);
  for (let i=0;i<3;i++) await s.run({x});
  let bw=1e9, bc=1e9;
  for (let r=0;r<12;r++){ const c=process.cpuUsage(), t=performance.now(); for(let i=0;i<3;i++) await s.run({x}); const d=process.cpuUsage(c); bc=Math.min(bc,(d.user+d.system)/3000); bw=Math.min(bw,(performance.now()-t)/3);} 
  console.log(name.padEnd(40), "cpu", bc.toFixed(2), "wall", bw.toFixed(2));
}
const S=20, K=2**S+1, lo=1.5*2**-6;
await bench("base", (b,x)=>x);
await bench("Mul scalar", (b,x)=>b.o("Mul",[x,b.s(3)]));
await bench("Mul Mul", (b,x)=>b.o("Mul",[b.o("Mul",[x,b.s(3)]),b.s(5)]));
await bench("Add self", (b,x)=>b.o("Add",[x,x]));
await bench("Abs", (b,x)=>b.o("Abs",[x]));
await bench("Round", (b,x)=>b.o("Round",[x]));
await bench("Floor", (b,x)=>b.o("Floor",[x]));
await bench("Sign", (b,x)=>b.o("Sign",[x]));
await bench("Neg", (b,x)=>b.o("Neg",[x]));
await bench("Relu", (b,x)=>b.o("Relu",[x]));
await bench("Reciprocal", (b,x)=>b.o("Reciprocal",[x]));
await bench("Div self", (b,x)=>b.o("Div",[x,x]));
await bench("Max scalar", (b,x)=>b.o("Max",[x,b.s(3)]));
await bench("Clip", (b,x)=>b.o("Clip",[x,b.s(-3),b.s(3)]));
await bench("LeakyRelu", (b,x)=>b.o("LeakyRelu",[x],{alpha:{kind:"float",value:-1}}));
await bench("Less+cast", (b,x)=>b.o("Cast",[b.o("Less",[x,b.s(3)])],to(1)));
await bench("Less,Where", (b,x)=>b.o("Where",[b.o("Less",[x,b.s(3)]),x,b.s(1)]));
await bench("Equal,Where", (b,x)=>b.o("Where",[b.o("Equal",[x,b.s(3)]),x,x]));
await bench("IsNaN cast", (b,x)=>b.o("Cast",[b.o("IsNaN",[x])],to(1)));
await bench("cast f16 f32", (b,x)=>b.o("Cast",[b.o("Cast",[x],to(10))],to(1)));
await bench("cast bf16 f32", (b,x)=>b.o("Cast",[b.o("Cast",[x],to(16))],to(1)));
await bench("cast i32 f32", (b,x)=>b.o("Cast",[b.o("Cast",[x],to(6))],to(1)));
await bench("cast f8e4 f32", (b,x)=>b.o("Cast",[b.o("Cast",[x],sat0)],to(1)));
await bench("cast f8e4 f32 castToEighth", (b,x)=>{const big=b.o("Greater",[b.o("Abs",[x]),b.s(464)]); const z=b.o("Where",[big,b.o("Mul",[x,b.s(NaN)]),x]); return b.o("Cast",[b.o("Cast",[z],sat0)],to(1));});
const anchor=(b,x)=>{const a=b.o("Abs",[x]); const m=b.o("Max",[a,b.s(lo)]); const g=b.o("Mul",[m,b.s(K)]); return [a,b.o("Sub",[g,m])];};
const rounded=(b,x)=>{const [a,d]=anchor(b,x); return b.o("Sub",[b.o("Add",[x,d]),d]);};
await bench("round, no zero", rounded);
await bench("round, Where zero", (b,x)=>{const y=rounded(b,x); return b.o("Where",[b.o("Equal",[y,b.s(0)]),b.o("Mul",[x,b.s(0)]),y]);});
await bench("round, Clip sign", (b,x)=>{const [a,d]=anchor(b,x); const y=b.o("Sub",[b.o("Add",[a,d]),d]); return b.o("Mul",[y,b.o("Clip",[b.o("Mul",[x,b.s(2**11)]),b.s(-1),b.s(1)])]);});
await bench("round, Clip sign + beyond", (b,x)=>{const [a,d]=anchor(b,x); const y=b.o("Sub",[b.o("Add",[a,d]),d]); const y2=b.o("Mul",[y,b.o("Clip",[b.o("Mul",[x,b.s(2**11)]),b.s(-1),b.s(1)])]); return b.o("Where",[b.o("Greater",[y,b.s(448)]),b.s(NaN),y2]);});
await bench("BitCast i32 back", (b,x)=>b.o("BitCast",[b.o("BitCast",[x],to(6))],to(1)), 26);
