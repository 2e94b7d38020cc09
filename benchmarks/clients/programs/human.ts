import type { Client, Findings } from '../types';

interface Result {
  readonly face: readonly Found[];
  readonly body: readonly Found[];
  readonly hand: readonly Found[];
  readonly object: readonly Found[];
}
interface Found {
  readonly score: number;
  readonly box: Findings;
  readonly label?: string;
  readonly age?: number;
  readonly gender?: string;
  readonly mesh?: Findings;
  readonly embedding?: Findings;
  readonly emotion?: readonly { readonly score: number; readonly emotion: string }[];
  readonly keypoints?: readonly { readonly position: Findings; readonly score: number }[] | Findings;
}
interface Human {
  load(): Promise<void>;
  detect(image: unknown): Promise<Result>;
}

/**
 * The models that come with the package; the whole of a photo is looked at anew each time. Faces are not turned upright: human
 * does so only where the backend has the kernel RotateWithOffset, which the peer lacks.
 */
const CONFIG = {
  backend: 'tensorflow',
  debug: false,
  cacheSensitivity: 0,
  face: {
    enabled: true,
    detector: { maxDetected: 10, rotation: false },
    iris: { enabled: true },
    antispoof: { enabled: true },
    liveness: { enabled: true },
  },
  body: { enabled: true },
  hand: { enabled: true, rotation: false },
  object: { enabled: true },
  gesture: { enabled: false },
};

export const human: Client = {
  name: '@vladmandic/human',
  package: '@vladmandic/human',
  about: 'six photos: faces with mesh, iris, emotion, age and embedding, bodies, hands, objects',
  async open({ require, tf, photos, folderOf }) {
    const { Human } = require('@vladmandic/human') as { Human: new (config: object) => Human };
    const models = `file://${folderOf('@vladmandic/human')}/models/`;
    const instance = new Human({ ...CONFIG, modelBasePath: models });
    await instance.load();
    return async () => {
      const found: Findings[] = [];
      for (const photo of photos) {
        const image = tf.node.decodeImage(photo, 3);
        const { face, body, hand, object } = await instance.detect(image);
        image.dispose();
        found.push(toFindings({ face, body, hand, object }));
      }
      return found;
    };
  },
};

function toFindings({ face, body, hand, object }: Result): Findings {
  return {
    face: face.map(({ score, box, age = 0, gender = '', mesh = null, embedding = null, emotion = [] }) => ({
      ...{ score, box, age, gender, mesh, embedding },
      emotion: emotion.map(({ emotion: name, score: sure }) => [name, sure]),
    })),
    body: body.map(({ score, box, keypoints }) => ({
      ...{ score, box },
      keypoints: (keypoints as readonly { position: Findings }[]).map(({ position }) => position),
    })),
    hand: hand.map(({ score, box, keypoints = null }) => ({ score, box, keypoints: keypoints as Findings })),
    object: object.map(({ label = '', score, box }) => ({ label, score, box })),
  };
}
