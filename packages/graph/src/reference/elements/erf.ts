// erf and erfc in double precision: the rational approximations of FreeBSD's msun s_erf.c, error below one unit in
// the last place of f64.
// Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved.
// Developed at SunPro, a Sun Microsystems, Inc. business. Permission to use, copy, modify, and distribute this
// software is freely granted, provided that this notice is preserved.

const ERX = 0.8450629115104675;

const PP = [
  0.12837916709551256, -0.3250421072470015, -0.02848174957559851, -0.005770270296489442,
  -0.000023763016656650163,
];
const QQ = [
  1, 0.39791722395915535, 0.0650222499887673, 0.005081306281875766, 0.00013249473800432164,
  -0.000003960228278775368,
];
const PA = [
  -0.0023621185607526594, 0.41485611868374833, -0.3722078760357013, 0.31834661990116175, -0.11089469428239668,
  0.035478304325618236, -0.002166375594868791,
];
const QA = [
  1, 0.10642088040084423, 0.540397917702171, 0.07182865441419627, 0.12617121980876164, 0.01363708391202905,
  0.011984499846799107,
];
const RA = [
  -0.009864944034847148, -0.6938585727071818, -10.558626225323291, -62.375332450326006, -162.39666946257347,
  -184.60509290671104, -81.2874355063066, -9.814329344169145,
];
const SA = [
  1, 19.651271667439257, 137.65775414351904, 434.56587747522923, 645.3872717332679, 429.00814002756783,
  108.63500554177944, 6.570249770319282, -0.0604244152148581,
];
const RB = [
  -0.0098649429247001, -0.799283237680523, -17.757954917754752, -160.63638485582192, -637.5664433683896,
  -1025.0951316110772, -483.5191916086514,
];
const SB = [
  1, 30.33806074348246, 325.7925129965739, 1536.729586084437, 3199.8582195085955, 2553.0504064331644,
  474.52854120695537, -22.44095244658582,
];

function polynomial(coefficients: readonly number[], x: number): number {
  let sum = 0;
  for (let index = coefficients.length - 1; index >= 0; index--) {
    sum = sum * x + (coefficients[index] as number);
  }
  return sum;
}

const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);
const LOW = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? 0 : 1;

/** erfc(x) for x ≥ 1.25. exp(-x²) is split so that it loses no digits: z is x with the low word cleared. */
function tail(x: number): number {
  const s = 1 / (x * x);
  const ratio = x < 1 / 0.35 ? polynomial(RA, s) / polynomial(SA, s) : polynomial(RB, s) / polynomial(SB, s);
  double[0] = x;
  words[LOW] = 0;
  const z = double[0] as number;
  return (Math.exp(-z * z - 0.5625) * Math.exp((z - x) * (z + x) + ratio)) / x;
}

/** The error function; it is odd, and NaN for NaN. */
export function erf(x: number): number {
  const magnitude = Math.abs(x);
  if (magnitude < 0.84375) {
    const z = x * x;
    return x + x * (polynomial(PP, z) / polynomial(QQ, z));
  }
  if (magnitude < 1.25) {
    const s = magnitude - 1;
    const y = ERX + polynomial(PA, s) / polynomial(QA, s);
    return x < 0 ? -y : y;
  }
  if (magnitude >= 6) return x < 0 ? -1 : 1;
  if (Number.isNaN(x)) return x;
  return x < 0 ? tail(magnitude) - 1 : 1 - tail(magnitude);
}

/** 1 - erf(x) without cancellation for large x. */
export function erfc(x: number): number {
  const magnitude = Math.abs(x);
  if (magnitude < 0.84375) {
    const z = x * x;
    const y = polynomial(PP, z) / polynomial(QQ, z);
    return x < 0.25 ? 1 - (x + x * y) : 0.5 - (x - 0.5 + x * y);
  }
  if (magnitude < 1.25) {
    const s = magnitude - 1;
    const y = polynomial(PA, s) / polynomial(QA, s);
    return x >= 0 ? 1 - ERX - y : 1 + ERX + y;
  }
  if (Number.isNaN(x)) return x;
  if (magnitude >= 28) return x > 0 ? 0 : 2;
  return x > 0 ? tail(magnitude) : 2 - tail(magnitude);
}
