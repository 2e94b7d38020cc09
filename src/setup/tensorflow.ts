import { TftrtError } from '../errors';
import { locateTensorFlow, TENSORFLOW_VERSION, type TensorFlowInstallation, tensorFlowPlace } from './paths';
import { installWithPip, WHEELS_FOR_TENSORFLOW } from './pip';

/**
 * Brings TensorFlow's libraries and headers (of which only building takes notice) into the cache, unless they are there or TFTRT_TENSORFLOW names an
 * installation of the user's (which is used as it is, or refused).
 */
export async function ensureTensorFlow(need: 'run' | 'build' = 'build'): Promise<TensorFlowInstallation> {
  const place = tensorFlowPlace();
  if (!place.chosenByUser) {
    await installWithPip({
      requirements: [`tensorflow==${TENSORFLOW_VERSION}`],
      folder: place.home,
      title: `installing TensorFlow ${TENSORFLOW_VERSION} into ${place.home}`,
      usually: '1 to 5 minutes; 600 MB to download, 1.7 GB on disk',
      options: WHEELS_FOR_TENSORFLOW,
      isWhole: () => isWhole(need),
    });
  }
  return locateTensorFlow(need);
}

function isWhole(need: 'run' | 'build'): boolean {
  try {
    locateTensorFlow(need);
    return true;
  } catch (error) {
    if (error instanceof TftrtError) return false;
    throw error;
  }
}
