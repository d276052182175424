/** mulberry32, so that a failure names the seed that repeats it. */
export function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

const interesting = [0x00, 0x01, 0x02, 0x03, 0x04, 0x07, 0x08, 0x0a, 0x7f, 0x80, 0xff];

/** Bytes with one to four places changed, inserted, removed or cut off. */
export function mutate(bytes: Uint8Array, random: (below: number) => number): Uint8Array {
  let out = [...bytes];
  for (let count = 1 + random(4); count > 0; count--) {
    const at = random(out.length + 1);
    const length = 1 + random(8);
    switch (random(6)) {
      case 0:
        out[at] = random(256);
        break;
      case 1:
        out[at] = interesting[random(interesting.length)] as number;
        break;
      case 2:
        out[at] = (out[at] ?? 0) ^ (1 << random(8));
        break;
      case 3:
        out.splice(at, length);
        break;
      case 4:
        out.splice(at, 0, ...out.slice(random(out.length + 1)).slice(0, length));
        break;
      default:
        out = out.slice(0, at);
    }
  }
  return Uint8Array.from(out, (byte) => byte ?? 0);
}
