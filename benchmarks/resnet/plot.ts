import { type Bar, barChart, type Panel } from './bar_chart';
import { CONTESTANTS } from './contestants';
import type { Results, Row } from './results';
import type { Format } from './subject';

/** One colour for this project on each tier, a dull one for the peer. */
const COLORS: Record<string, string> = {
  INT8: '#0b6e4f',
  FP16: '#2a9d6f',
  TF32: '#3b7dd8',
  FP32: '#7fb0ec',
  peer: '#9aa5b1',
};

const FORMATS: readonly Format[] = ['graph', 'saved'];
const FORMAT_NAMES: Record<Format, string> = { graph: 'GraphModel', saved: 'SavedModel' };

/** The results as a picture: single predictions, those with the input on the device, and throughput. */
export function plot(results: Results): string {
  const batch = results.largeBatch;
  const panels = [
    panel(results, 'single', 'Batch 1, Float32Array in, Float32Array out: ms, less is better'),
    panel(results, 'single-resident', 'Batch 1, input on the device, output read: ms, less is better'),
    panel(
      results,
      'large-block',
      `Batch ${batch}, input on the device: images per second, more is better`,
      (ms) => (batch * 1000) / ms,
    ),
  ].filter(({ bars }) => bars.length > 0);
  const where = results.gpu ?? `${results.machine.cpu} (${results.device.toUpperCase()})`;
  return barChart(
    'ResNet-50: tfjs-backend-tftrt and @tensorflow/tfjs-node-gpu',
    `${where}; Node ${results.machine.node}; medians, thin lines to p95; in brackets: against the peer's SavedModel; ${results.date}`,
    panels,
  );
}

/** Times as they are, or turned into a rate by `rate`. */
function panel(results: Results, prefix: string, title: string, rate?: (ms: number) => number): Panel {
  const rowsOf = (format: Format) =>
    results.scenarios.find(({ name }) => name === `${prefix}-${format}`)?.rows ?? [];
  const reference = rowsOf('saved').find(({ contestant }) => contestant === 'peer')?.median;
  const bars = CONTESTANTS.flatMap((who) =>
    FORMATS.flatMap((format): Bar[] => {
      const row = rowsOf(format).find(({ contestant }) => contestant === who.name);
      if (row === undefined) return [];
      const several = FORMATS.filter((one) => rowsOf(one).some(({ contestant }) => contestant === who.name));
      return [
        {
          label: several.length > 1 ? `${who.label}, ${FORMAT_NAMES[format]}` : who.label,
          value: rate ? rate(row.median) : row.median,
          ...(rate ? {} : { upTo: row.p95 }),
          text: `${figures(row, rate)}${times(row, reference)}`,
          color: COLORS[who.name]!,
        },
      ];
    }),
  );
  return { title, bars };
}

function figures({ median, p95 }: Row, rate?: (ms: number) => number): string {
  return rate ? Math.round(rate(median)).toLocaleString('en') : `${format(median)} ms, p95 ${format(p95)}`;
}

function times({ median }: Row, reference: number | undefined): string {
  return reference === undefined ? '' : ` (${format(reference / median)}×)`;
}

function format(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
