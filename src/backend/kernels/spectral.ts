import * as k from '@tensorflow/tfjs-core';
import { type KernelRow, op } from './table';

/** Complex numbers and Fourier transforms over the last axis. */
export const spectralKernels: KernelRow[] = [
  op(k.Complex, 'Complex', ['real', 'imag']),
  op(k.ComplexAbs, 'ComplexAbs', ['x']),
  op(k.FFT, 'FFT', ['input']),
  op(k.IFFT, 'IFFT', ['input']),
  op(k.Imag, 'Imag', ['input']),
  op(k.Real, 'Real', ['input']),
];
