import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import 'tfjs-backend-tftrt';
import * as tf from '@tensorflow/tfjs';
import { decodeImage, encodeJpeg } from '#src/node/image';
import { FAINT, INK, round, svgDocument, text } from '../svg';
import { contours } from './contours';
import type { Face, Photo } from './faces';
import type { PhotoResult, Results } from './results';

const COLUMNS = 2;
const MARGIN = 20;
const HEADER = 84;
/** The width of a photo, and what stands below it: its faces, enlarged. */
const PHOTO = 557;
const FACE = 105;
const CAPTION = 24;
const STRIP = FACE + 22;
/** How much of a face's surroundings its enlargement shows, in parts of the landmarks' extent. */
const AROUND = 0.12;
const COLOURS = ['#e6194b', '#0b8a3e', '#b8860b', '#0065d1', '#d45500', '#7a1fa2', '#00838f', '#c2185b'];

/** Each photo with its boxes, and its faces' 68 landmarks enlarged, as an SVG document. Photos are only `background` pixels wide. */
export async function pictureOf(results: Results, home: string, background: number): Promise<string> {
  await tf.setBackend('tftrt');
  const tiles: string[] = [];
  let top = HEADER;
  for (let i = 0; i < results.photos.length; i += COLUMNS) {
    const row = results.photos.slice(i, i + COLUMNS);
    const height = Math.max(...row.map(({ photos }) => heightOf(photos.tftrt)));
    for (const [column, result] of row.entries()) {
      const image = await dataUrl(join(home, 'demo', result.name), background);
      const left = MARGIN + column * (PHOTO + MARGIN);
      tiles.push(`<g transform="translate(${left} ${top})">`, ...tile(result, image), '</g>');
    }
    top += CAPTION + height + STRIP + MARGIN;
  }
  const width = MARGIN + COLUMNS * (PHOTO + MARGIN);
  const where = results.gpu ?? `${results.machine.cpu} (${results.device.toUpperCase()})`;
  return svgDocument(width, top, [
    label(MARGIN, 30, 'face-api with tfjs-backend-tftrt and with @tensorflow/tfjs-node-gpu', 18, INK, 'bold'),
    label(
      MARGIN,
      50,
      'Colours: boxes, scores and 68 landmarks on tftrt. White dashes and black rings: those on the peer.',
      12,
      FAINT,
    ),
    label(
      MARGIN,
      67,
      `${where}; ${results.date}. Photos, here only in outline: @vladmandic/face-api, MIT`,
      12,
      FAINT,
    ),
    ...tiles,
  ]);
}

function tile({ name, photos: { tftrt, peer }, agreement }: PhotoResult, image: string): string[] {
  const scale = PHOTO / tftrt.width;
  const height = heightOf(tftrt);
  const { descriptor } = agreement;
  const apart =
    descriptor === 0 ? "equal to the peer's" : `at most ${descriptor.toExponential(1)} from the peer's`;
  const caption = `${name}: ${tftrt.faces.length} faces; descriptors ${apart}`;
  return [
    label(0, 14, caption, 13, INK, 'bold'),
    `<image y="${CAPTION}" width="${PHOTO}" height="${height}" preserveAspectRatio="none" opacity="0.75" href="${image}"/>`,
    `<g transform="translate(0 ${CAPTION})">`,
    ...tftrt.faces.flatMap((face, i) => box(face, scale, colour(i), i)),
    ...peer.faces.map((face) => rectangle(face, scale, '#ffffff', 'stroke-width="1" stroke-dasharray="5 4"')),
    '</g>',
    ...tftrt.faces.map((face, i) => enlarged(face, peer.faces[i], i, CAPTION + height + 6)),
  ];
}

/** A face's box with its number and score, and its landmarks as dots. */
function box(face: Face, scale: number, stroke: string, index: number): string[] {
  const [left, top] = face.box.map((value) => value * scale) as [number, number];
  const caption = `${index + 1}: ${face.score.toFixed(2)}`;
  const dots = points(face.landmarks).map(([x, y]) => `M${round(x * scale)} ${round(y * scale)}h0`);
  return [
    rectangle(face, scale, stroke, 'stroke-width="3"'),
    `<path d="${dots.join('')}" stroke="#ffffff" stroke-width="2.4" stroke-linecap="round"/>`,
    `<path d="${dots.join('')}" stroke="${stroke}" stroke-width="1.4" stroke-linecap="round"/>`,
    `<rect x="${round(left - 1.5)}" y="${round(top - 19)}" width="${caption.length * 7 + 8}" height="18" fill="${stroke}"/>`,
    label(left + 3, top - 6, caption, 12, '#ffffff'),
  ];
}

function rectangle({ box }: Face, scale: number, stroke: string, more: string): string {
  const [x, y, width, height] = box.map((value) => round(value * scale));
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="none" stroke="${stroke}" ${more}/>`;
}

/** The landmarks of one face in a square of their own: lines and dots of tftrt's, rings of the peer's. */
function enlarged(face: Face, other: Face | undefined, index: number, top: number): string {
  const own = points(face.landmarks);
  const xs = own.map(([x]) => x);
  const ys = own.map(([, y]) => y);
  const extent = Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys));
  const scale = FACE / (extent * (1 + 2 * AROUND));
  const middleX = (Math.max(...xs) + Math.min(...xs)) / 2;
  const middleY = (Math.max(...ys) + Math.min(...ys)) / 2;
  const place = ([x, y]: readonly [number, number]) =>
    `${round((x - middleX) * scale + FACE / 2)} ${round((y - middleY) * scale + FACE / 2)}`;
  const lines = contours.map(({ from, to, closed }) => {
    const along = own.slice(from, to + 1).map(place);
    return `M${along.join('L')}${closed ? 'Z' : ''}`;
  });
  const dots = own.map((point) => `M${place(point)}h0`).join('');
  const rings = points(other?.landmarks ?? []).map((point) => {
    const [x, y] = place(point).split(' ');
    return `<circle cx="${x}" cy="${y}" r="1.7"/>`;
  });
  const about = `${face.gender}, ${face.age.toFixed(0)}, ${mood(face)}`;
  return [
    `<g transform="translate(${index * (FACE + 8)} ${top})">`,
    `<rect width="${FACE}" height="${FACE}" fill="#f5f7fa" stroke="${colour(index)}"/>`,
    `<path d="${lines.join('')}" fill="none" stroke="${colour(index)}" stroke-opacity="0.6"/>`,
    `<path d="${dots}" stroke="${colour(index)}" stroke-width="2" stroke-linecap="round"/>`,
    `<g fill="none" stroke="#000000" stroke-width="0.5">${rings.join('')}</g>`,
    label(4, 13, String(index + 1), 11, colour(index), 'bold'),
    label(0, FACE + 12, about, 10, FAINT),
    '</g>',
  ].join('\n');
}

function mood({ expressions }: Face): string {
  return Object.entries(expressions).sort(([, a], [, b]) => b - a)[0]![0];
}

/** The photo, averaged over squares, as a data: URL. */
async function dataUrl(file: string, width: number): Promise<string> {
  const small = tf.tidy(() => {
    const photo = decodeImage(readFileSync(file), 3) as tf.Tensor3D;
    const side = Math.max(1, Math.floor(photo.shape[1] / width));
    return tf.avgPool(photo.toFloat(), side, side, 'valid').round().toInt() as tf.Tensor3D;
  });
  try {
    return `data:image/jpeg;base64,${Buffer.from(await encodeJpeg(small, 'rgb', 85)).toString('base64')}`;
  } finally {
    small.dispose();
  }
}

function heightOf({ width, height }: Photo): number {
  return round((height * PHOTO) / width);
}

function colour(index: number): string {
  return COLOURS[index % COLOURS.length]!;
}

function points(flat: readonly number[]): (readonly [number, number])[] {
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, flat[2 * i + 1]!] as const);
}

function label(
  x: number,
  y: number,
  content: string,
  size: number,
  fill: string,
  weight: 'normal' | 'bold' = 'normal',
): string {
  return text(x, y, content, `font-size="${size}" fill="${fill}" font-weight="${weight}"`);
}
