export const INK = '#1f2933';
export const FAINT = '#616e7c';

/** A document of these parts, on white. */
export function svgDocument(width: number, height: number, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="DejaVu Sans, Verdana, Arial, sans-serif" font-size="13" fill="${INK}">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}

export function text(x: number, y: number, content: string, attributes: string): string {
  const escaped = content.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escaped}</text>`;
}

/** A tenth of a pixel is more than anybody sees. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}
