import { DT } from '../dtypes';

/** Numbers of dtypes and of kinds of attributes (TF_AttrType), by the names of TensorFlow's C API. */
export const TF = {
  TF_FLOAT: DT.FLOAT,
  TF_INT32: DT.INT32,
  TF_INT64: DT.INT64,
  TF_BOOL: DT.BOOL,
  TF_COMPLEX64: DT.COMPLEX64,
  TF_STRING: DT.STRING,
  TF_RESOURCE: DT.RESOURCE,
  TF_UINT8: DT.UINT8,
  TF_ATTR_STRING: 0,
  TF_ATTR_INT: 1,
  TF_ATTR_FLOAT: 2,
  TF_ATTR_BOOL: 3,
  TF_ATTR_TYPE: 4,
  TF_ATTR_SHAPE: 5,
} as const;
