// Imported before all that imports @tensorflow/tfjs, which the main module does without.
import { requirePeer } from '../peers';

requirePeer('@tensorflow/tfjs', () => require('@tensorflow/tfjs').version.tfjs);
