import type { Attributes, AttributeValue } from '../backend/op_attributes';
import { TftrtError } from '../errors';

type Kind = 'whole number' | 'number' | 'boolean' | 'string';

/** What the attributes of TensorFlow's ops for images take. */
const KINDS: Readonly<Record<string, Kind>> = {
  channels: 'whole number',
  ratio: 'whole number',
  fancy_upscaling: 'boolean',
  try_recover_truncated: 'boolean',
  acceptable_fraction: 'number',
  dct_method: 'string',
  expand_animations: 'boolean',
  format: 'string',
  quality: 'whole number',
  progressive: 'boolean',
  optimize_size: 'boolean',
  chroma_downsampling: 'boolean',
  density_unit: 'string',
  x_density: 'whole number',
  y_density: 'whole number',
  xmp_metadata: 'string',
  compression: 'whole number',
};

/** Attributes as the op takes them: whole numbers without their fraction, since programs compute a quality. */
export function imageAttributes(op: string, attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, checked(op, name, value)]),
  );
}

function checked(op: string, name: string, value: AttributeValue): AttributeValue {
  const kind = KINDS[name]!;
  const fits =
    kind === 'whole number'
      ? typeof value === 'number' && Number.isSafeInteger(Math.trunc(value))
      : kind === 'number'
        ? Number.isFinite(value)
        : typeof value === kind;
  if (fits) return kind === 'whole number' ? Math.trunc(value as number) : value;
  const argument = name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const given = typeof value === 'string' ? `'${value}'` : String(value);
  throw new TftrtError('TFTRT_INVALID_ARGUMENT', `${op} takes a ${kind} for ${argument}, got ${given}.`);
}
