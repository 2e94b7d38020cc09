import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '#src/setup/paths';
import type { Ready } from '../../benchmarks/face_api/child';
import { compare } from '../../benchmarks/face_api/faces';
import type { Reference } from '../../benchmarks/face_api/measure';
import { processOf } from '../../benchmarks/face_api/sides';
import { SideProcess } from '../../benchmarks/side_process';
import { ensureFaceApi } from '../../demo/fetch_models';

const REFERENCE = path.join(packageRoot, 'test', 'fixtures', 'face_api.json');

describe('@vladmandic/face-api for tfjs-node', function () {
  this.timeout(300_000);

  it('runs unmodified and finds in six photos what it finds on tfjs-node-gpu', async () => {
    const { photos: expected } = JSON.parse(fs.readFileSync(REFERENCE, 'utf8')) as Reference;
    const client = new SideProcess<Ready, never>(processOf('tftrt', await ensureFaceApi(), ''));
    const { photos, tensorsLeft } = await client.ready().finally(() => client.close());
    expect(tensorsLeft).to.equal(0);
    expect(photos.map(({ name }) => name)).to.deep.equal(expected.map(({ name }) => name));
    expect(photos.length).to.equal(6);
    for (const [i, { name, faces }] of photos.entries()) {
      for (const { descriptor, landmarks } of faces)
        expect([descriptor.length, landmarks.length]).to.deep.equal([128, 2 * 68]);
      const agreement = compare(faces, expected[i]!.faces);
      expect(agreement, name).to.include({ sameFaces: true, sameGender: true });
      const differences = {
        descriptor: 1e-3,
        landmark: 0.1,
        box: 0.1,
        score: 1e-3,
        expression: 5e-3,
        age: 0.05,
      };
      for (const [what, allowed] of Object.entries(differences))
        expect(agreement[what as keyof typeof differences], `${name}: ${what}`).to.be.at.most(allowed);
    }
  });
});
