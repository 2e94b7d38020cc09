import { expect } from 'chai';
import { ensurePackage } from '../../demo/fetch_models';
import { useTemporaryFolder } from '../setup/helpers';
import { linkPackage, makeClient, runClient } from '../support/client';

const PROGRAM = `
  const fs = require('node:fs');
  const path = require('node:path');
  const faceapi = require('@vladmandic/face-api');
  const home = path.dirname(require.resolve('@vladmandic/face-api/package.json'));
  async function main() {
    const { ssdMobilenetv1, faceLandmark68Net, ageGenderNet, faceRecognitionNet } = faceapi.nets;
    const nets = [ssdMobilenetv1, faceLandmark68Net, ageGenderNet, faceRecognitionNet];
    for (const net of nets) await net.loadFromDisk(path.join(home, 'model'));
    const photo = faceapi.tf.node.decodeImage(fs.readFileSync(path.join(home, 'demo/sample1.jpg')), 3);
    const faces = await faceapi
      .detectAllFaces(photo.expandDims(0), new faceapi.SsdMobilenetv1Options({ minConfidence: 0.1, maxResults: 10 }))
      .withFaceLandmarks()
      .withFaceDescriptors()
      .withAgeAndGender();
    const report = faces.map(({ gender, age, descriptor, landmarks }) => ({
      gender,
      age,
      descriptor: descriptor.length,
      landmarks: landmarks.positions.length,
    }));
    console.log(JSON.stringify({ backend: faceapi.tf.getBackend(), faces: report }));
  }
  main();
`;

/** What tfjs-node-gpu 4.22 finds on the CPU, with the same TensorFlow. */
const AGES = [26.4899, 27.0902, 27.4636];

describe('@vladmandic/face-api for tfjs-node', function () {
  this.timeout(300_000);
  const folder = useTemporaryFolder();

  it('runs unmodified and finds faces', async () => {
    const home = await ensurePackage({
      name: '@vladmandic/face-api',
      version: '1.7.15',
      suffix: '-node',
      size: '13 MB',
      members: [
        ...['package/package.json', 'package/LICENSE', 'package/dist/face-api.node.js'],
        ...['package/model', 'package/demo/sample1.jpg'],
      ],
    });
    makeClient(folder(), { 'app.cjs': PROGRAM });
    linkPackage(folder(), '@vladmandic/face-api', home);
    const output = runClient(folder(), ['-r', 'tfjs-backend-tftrt/replace-tfjs-node', 'app.cjs']);
    const { backend, faces } = JSON.parse(output.split('\n').at(-1)!);
    expect(backend).to.equal('tensorflow');
    expect(faces).to.have.length(AGES.length);
    for (const [i, { age, ...others }] of faces.entries()) {
      expect(others).to.deep.equal({ gender: 'female', descriptor: 128, landmarks: 68 });
      expect(age).to.be.closeTo(AGES[i]!, 0.05);
    }
  });
});
