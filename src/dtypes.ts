import type { DataType } from '@tensorflow/tfjs-core';
import { TftrtError } from './errors';

/** Numbers of tensorflow.DataType (TensorFlow's types.proto) that this package names. */
export const DT = {
  FLOAT: 1,
  DOUBLE: 2,
  INT32: 3,
  UINT8: 4,
  INT16: 5,
  INT8: 6,
  STRING: 7,
  COMPLEX64: 8,
  INT64: 9,
  BOOL: 10,
  BFLOAT16: 14,
  UINT16: 17,
  COMPLEX128: 18,
  HALF: 19,
  RESOURCE: 20,
  VARIANT: 21,
  UINT32: 22,
  UINT64: 23,
} as const;

export type TFDataType = (typeof DT)[keyof typeof DT];

const TO_TF: Record<DataType, TFDataType> = {
  float32: DT.FLOAT,
  int32: DT.INT32,
  bool: DT.BOOL,
  complex64: DT.COMPLEX64,
  string: DT.STRING,
};

const FROM_TF = new Map<number, DataType>(
  Object.entries(TO_TF).map(([name, number]) => [number, name as DataType]),
);

/** TensorFlow's number for a tfjs dtype. */
export function toTFDataType(dtype: DataType): TFDataType {
  return TO_TF[dtype];
}

/** The tfjs dtype for TensorFlow's number; throws `TFTRT_UNSUPPORTED_DTYPE` for one that tfjs has no tensors of. */
export function fromTFDataType(number: number): DataType {
  const dtype = FROM_TF.get(number);
  if (dtype === undefined) {
    throw new TftrtError(
      'TFTRT_UNSUPPORTED_DTYPE',
      `TensorFlow returned a tensor of dtype ${tfDataTypeName(number)}; TensorFlow.js has ${Object.keys(TO_TF).join(', ')}.`,
    );
  }
  return dtype;
}

/** `DT_FLOAT` and so on, as TensorFlow's JSON spells dtypes. */
export function tfDataTypeName(number: number): string {
  const name = Object.entries(DT).find(([, value]) => value === number)?.[0];
  return name === undefined ? `DT ${number}` : `DT_${name}`;
}
