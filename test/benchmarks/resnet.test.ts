import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { barChart } from '../../benchmarks/resnet/bar_chart';
import { IMAGE, Images } from '../../benchmarks/resnet/images';
import { inLanes } from '../../benchmarks/resnet/lanes';
import { collect } from '../../benchmarks/resnet/results';
import { tableOf } from '../../benchmarks/resnet/table';
import { useTemporaryFolder } from '../setup/helpers';

const CLASSES = 1000;

describe('the benchmark of ResNet-50', () => {
  const folder = useTemporaryFolder();

  describe('Images', () => {
    /** Two images; the likeliest class of the first is 3, of the second 5. */
    function twoImages(): { images: Images; expected: Float32Array } {
      const expected = new Float32Array(2 * CLASSES);
      expected[3] = 0.5;
      expected[CLASSES + 5] = 0.75;
      fs.writeFileSync(path.join(folder(), 'images.bin'), new Uint8Array(2 * IMAGE).fill(255, IMAGE));
      fs.writeFileSync(path.join(folder(), 'expected.bin'), new Uint8Array(expected.buffer));
      return { images: new Images(folder()), expected };
    }

    it('gives batches from any image on, repeated as need be', () => {
      const values = twoImages().images.batch(3, 1);
      expect([values[0], values[IMAGE], values[2 * IMAGE], values[3 * IMAGE - 1]]).to.deep.equal([
        1, 0, 1, 1,
      ]);
    });

    it('finds a wrong class, a difference and a NaN', () => {
      const { images, expected } = twoImages();
      expect(images.compare(expected)).to.deep.equal({ images: 2, maxAbsoluteDifference: 0, sameClass: 1 });
      const shifted = expected.slice();
      shifted[4] = 1;
      expect(images.compare(shifted)).to.deep.equal({ images: 2, maxAbsoluteDifference: 1, sameClass: 0.5 });
      // From the second image on, the expected values are the second's.
      expect(images.compare(expected.subarray(CLASSES), 1).sameClass).to.equal(1);
      expect(images.compare(expected, 1).sameClass).to.equal(0);
      shifted[CLASSES - 1] = Number.NaN;
      expect(() => images.compare(shifted))
        .to.throw('NaN')
        .with.property('code', 'TFTRT_BENCH_OUTPUT');
    });

    it('refuses outputs of other images', () => {
      twoImages();
      fs.writeFileSync(path.join(folder(), 'expected.bin'), new Uint8Array(4 * CLASSES));
      expect(() => new Images(folder()))
        .to.throw('do not belong together')
        .with.property('code', 'TFTRT_BENCH_MODELS');
    });
  });

  it('keeps as many tasks in flight as there are lanes', async () => {
    let [inFlight, most, started] = [0, 0, 0];
    const lanes = new Set<number>();
    await inLanes(
      3,
      () => started++ < 10,
      async (lane) => {
        lanes.add(lane);
        most = Math.max(most, ++inFlight);
        await sleep(1);
        inFlight--;
      },
    );
    expect({ most, inFlight, lanes: [...lanes] }).to.deep.equal({ most: 3, inFlight: 0, lanes: [0, 1, 2] });
  });

  describe('collect', () => {
    const engine = { serving: 'tensorrt', engines: [{ fromCache: true }], buildCallMs: 1500 };
    const agreement = { images: 8, maxAbsoluteDifference: 1e-5, sameClass: 1 };
    const stint = (samples: number[], errors: string[] = []) => ({
      opened: { openMs: 1, versions: {}, device: 'gpu' },
      prepared: { models: [{ name: 'm', engine, agreement }], firstOutputMs: 1, failures: {} },
      turns: { 'single-graph': [{ samples }], 'large-block-graph': [{ samples }] },
      errors,
    });
    const where = { date: '2026-01-02', gpu: 'a GPU, 1.2', machine: { cpu: 'a CPU' } };
    const write = (round: number, stints: object) =>
      fs.writeFileSync(
        path.join(folder(), `round-${round}.json`),
        JSON.stringify({ ...where, largeBatch: 10, stints }),
      );

    it('joins the rounds and holds the targets', () => {
      write(1, { FP16: stint([0.3, 0.4]), INT8: stint([0.4]) });
      write(2, { FP16: stint([0.5], ['the first line\nand more']), INT8: stint([0.5]) });
      const results = collect(folder());
      expect(results).to.deep.include({ date: '2026-01-02', gpu: 'a GPU, 1.2', largeBatch: 10, rounds: 2 });
      expect(results.machine.cpu).to.equal('a CPU');
      const rows = results.scenarios.find(({ name }) => name === 'single-graph')!.rows;
      expect(rows.map(({ contestant, median }) => [contestant, median])).to.deep.equal([
        ['INT8', 0.45],
        ['FP16', 0.4],
      ]);
      expect(rows[1]!.roundMedians).to.deep.equal([0.35, 0.5]);
      expect(results.errors).to.deep.equal(['round 2, FP16: the first line']);
      const verdict = (text: string) => results.verdicts.find(({ target }) => target.startsWith(text));
      expect(verdict('FP16, single-graph')).to.include({ value: 0.4, pass: true });
      expect(verdict('INT8, single-graph')).to.include({ value: 0.45, pass: false });
      expect(verdict('FP16, large-block-graph')).to.include({ value: 25_000, pass: false });
      expect(verdict('INT8, large-block-graph')).to.include({ pass: false });
      expect(verdict('FP16: every model')).to.include({ pass: true });
      expect(tableOf(results)).to.contain('25,000 images/s').and.contain('! round 2, FP16: the first line');
    });

    it('misses every target that was not measured, and one that TensorFlow served', () => {
      expect(collect(folder()).verdicts.every(({ pass }) => !pass)).to.be.true;
      const fallen = stint([0.1]);
      fallen.prepared.models[0]!.engine = { ...engine, serving: 'tensorflow' };
      write(1, { FP16: fallen });
      const verdict = collect(folder()).verdicts.find(({ target }) => target.startsWith('FP16: every'));
      expect(verdict).to.include({ value: 0, pass: false });
    });
  });

  it('draws bars to scale and escapes text', () => {
    const bar = (label: string, value: number) => ({ label, value, text: `${value}`, color: '#000000' });
    const svg = barChart('a < b', '', [{ title: 'T', bars: [bar('x & y', 1), bar('z', 4)] }]);
    const widths = [...svg.matchAll(/<rect x="\d+" y="\d+" width="([\d.]+)"/g)].map(([, width]) =>
      Number(width),
    );
    expect(widths[1]! / widths[0]!).to.equal(4);
    expect(svg).to.contain('a &lt; b').and.contain('x &amp; y');
  });
});
