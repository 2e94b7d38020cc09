// Opens NVIDIA's libraries as the backend does, and says what it found. A probe: see probe.ts.

import { loadLibraryLoader } from '../setup/load_addon';
import { complaintAboutDriver, loadCuda, loadTensorRt } from '../setup/load_gpu_libraries';
import type { Complaint } from './check';
import { answer, complaintOf } from './probe';

export interface ProbedLibraries {
  /** What is wrong with the driver. */
  readonly driver?: { readonly problem: string; readonly remedy: string };
  /** What is wrong with the driver or the CUDA libraries, as the backend says it. */
  readonly cuda?: Complaint;
  readonly tensorRt?: Complaint;
  /** The CUDA version that the driver can do, as CUDA counts. */
  readonly driverCuda: number | null;
  readonly cudnnVersion: number | null;
  readonly tensorRtVersion: number | null;
}

function complaintFrom(work: () => void): Complaint | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return complaintOf(error);
  }
}

if (require.main === module) {
  void answer((): ProbedLibraries => {
    const loader = loadLibraryLoader();
    return {
      driver: complaintAboutDriver(loader) ?? undefined,
      cuda: complaintFrom(() => loadCuda(loader)),
      tensorRt: complaintFrom(() => loadTensorRt(loader)),
      driverCuda: loader.driverVersion(),
      cudnnVersion: loader.call('libcudnn.so.8', 'cudnnGetVersion'),
      tensorRtVersion: loader.call('libnvinfer.so.8', 'getInferLibVersion'),
    };
  });
}
