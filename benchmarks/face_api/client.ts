// A program for face-api on Node, as its users write one: it names no backend, and face-api asks for @tensorflow/tfjs-node.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type * as tfjs from '@tensorflow/tfjs';
import type { Face, Photo } from './faces';

interface Net {
  loadFromDisk(folder: string): Promise<void>;
}

/** What a face has after all tasks. */
interface Result {
  readonly detection: {
    readonly score: number;
    readonly box: { x: number; y: number; width: number; height: number };
  };
  readonly landmarks: { readonly positions: readonly { x: number; y: number }[] };
  readonly descriptor: Float32Array;
  readonly age: number;
  readonly gender: string;
  readonly genderProbability: number;
  readonly expressions: Record<string, number>;
}

/** As much of face-api's types as is used here. */
interface FaceApi {
  readonly tf: typeof tfjs & { node: { decodeImage(content: Uint8Array, channels: number): tfjs.Tensor3D } };
  readonly nets: Record<string, Net>;
  readonly SsdMobilenetv1Options: new (options: { minConfidence: number; maxResults: number }) => object;
  detectAllFaces(photo: tfjs.Tensor4D, options: object): Detecting;
}

interface Detecting extends PromiseLike<Result[]> {
  withFaceLandmarks(): Detecting;
  withFaceExpressions(): Detecting;
  withFaceDescriptors(): Detecting;
  withAgeAndGender(): Detecting;
}

const NETS = [
  ...['ssdMobilenetv1', 'faceLandmark68Net', 'faceExpressionNet', 'ageGenderNet', 'faceRecognitionNet'],
];

/** Photos as files, as a server gets them: decoding belongs to what is timed. */
export interface PhotoFile {
  readonly name: string;
  readonly content: Uint8Array;
}

/** The photos in face-api's package. */
export function readPhotos(home: string): PhotoFile[] {
  const demo = join(home, 'demo');
  return readdirSync(demo)
    .filter((file) => /^sample\d\.jpg$/.test(file))
    .sort()
    .map((name) => ({ name, content: readFileSync(join(demo, name)) }));
}

/** face-api with all its nets for faces. */
export class FaceClient {
  private constructor(private readonly api: FaceApi) {}

  /** Loads face-api's Node build from its package's folder, and with it the backend. */
  static async open(home: string): Promise<FaceClient> {
    const api = require(home) as FaceApi;
    await api.tf.ready();
    return new FaceClient(api);
  }

  get tf(): FaceApi['tf'] {
    return this.api.tf;
  }

  async loadNets(home: string): Promise<void> {
    for (const name of NETS) await this.api.nets[name]!.loadFromDisk(join(home, 'model'));
  }

  /** Everything that face-api knows of the faces in a photo. */
  async look({ name, content }: PhotoFile): Promise<Photo> {
    const { tf } = this.api;
    const image = tf.node.decodeImage(content, 3);
    const batch = tf.expandDims<tfjs.Tensor4D>(image, 0);
    const results = await this.api
      .detectAllFaces(batch, new this.api.SsdMobilenetv1Options({ minConfidence: 0.1, maxResults: 10 }))
      .withFaceLandmarks()
      .withFaceExpressions()
      .withFaceDescriptors()
      .withAgeAndGender();
    const [height, width] = image.shape;
    tf.dispose([image, batch]);
    return { name, width, height, faces: results.map(toFace) };
  }
}

function toFace({ detection, landmarks, descriptor, expressions, ...others }: Result): Face {
  const { score, box } = detection;
  return {
    score,
    box: [box.x, box.y, box.width, box.height],
    landmarks: landmarks.positions.flatMap(({ x, y }) => [x, y]),
    descriptor: [...descriptor],
    age: others.age,
    gender: others.gender,
    genderProbability: others.genderProbability,
    expressions: { ...expressions },
  };
}
