const TABLE_BITS = 14;

/** Quantiles of the normal distribution: a random index of this table is a normal number, at the price of one look-up. */
const NORMAL_QUANTILES = normalQuantiles(2 ** TABLE_BITS);

/** Seeded pseudo-random numbers: the same on every machine, and fast enough for noise on millions of pixels. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed | 0;
    for (let i = 0; i < 8; i++) this.bits();
  }

  /** 32 random bits as a signed integer (a Weyl sequence, hashed). */
  bits(): number {
    this.state = (this.state + 0x9e3779b9) | 0;
    let z = this.state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return z ^ (z >>> 15);
  }

  /** A number in [low, high). */
  uniform(low: number, high: number): number {
    return low + ((high - low) * (this.bits() >>> 0)) / 2 ** 32;
  }

  /** A whole number from 0 to below `count`. */
  below(count: number): number {
    return Math.floor(this.uniform(0, count));
  }

  /** Adds normal noise of this standard deviation to `values[from]` … `values[to - 1]`. */
  addNoise(values: Float32Array, from: number, to: number, deviation: number): void {
    const mask = 2 ** TABLE_BITS - 1;
    for (let i = from; i < to; i += 2) {
      const bits = this.bits();
      values[i]! += deviation * NORMAL_QUANTILES[bits & mask]!;
      if (i + 1 < to) values[i + 1]! += deviation * NORMAL_QUANTILES[(bits >>> 16) & mask]!;
    }
  }

  /** The numbers from 0 to below `count` in random order. */
  permutation(count: number): Int32Array {
    const order = Int32Array.from({ length: count }, (_, i) => i);
    for (let i = count - 1; i > 0; i--) {
      const j = this.below(i + 1);
      const swapped = order[i]!;
      order[i] = order[j]!;
      order[j] = swapped;
    }
    return order;
  }
}

/** The quantiles of (i + ½) / count, by adding up the density in steps from the middle outwards. */
function normalQuantiles(count: number): Float32Array {
  const quantiles = new Float32Array(count);
  const step = 1e-4;
  let probability = 0.5;
  let x = 0;
  for (let i = count / 2; i < count; i++) {
    const wanted = (i + 0.5) / count;
    while (probability < wanted) {
      probability += step * (Math.exp(-((x + step / 2) ** 2) / 2) / Math.sqrt(2 * Math.PI));
      x += step;
    }
    quantiles[i] = x;
    quantiles[count - 1 - i] = -x;
  }
  return quantiles;
}
