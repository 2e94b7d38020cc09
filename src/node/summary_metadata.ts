/** tensorflow.SummaryMetadata for TensorBoard's histograms, as protobuf writes it. */
export function histogramMetadata(description = ''): Uint8Array {
  const plugin = field(1, Buffer.from('histograms')); // SummaryMetadata.PluginData.plugin_name
  const parts = [field(1, plugin)]; // plugin_data
  if (description !== '') parts.push(field(3, Buffer.from(description))); // summary_description
  parts.push(Buffer.from([(4 << 3) | VARINT, TENSOR_DATA])); // data_class
  return Buffer.concat(parts);
}

const VARINT = 0;
const LENGTH_DELIMITED = 2;

/** tensorflow.DataClass: DATA_CLASS_TENSOR. */
const TENSOR_DATA = 2;

function field(number: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | LENGTH_DELIMITED, ...varint(bytes.length)]), bytes]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  for (; value >= 0x80; value = Math.floor(value / 0x80)) bytes.push((value % 0x80) | 0x80);
  bytes.push(value);
  return bytes;
}
