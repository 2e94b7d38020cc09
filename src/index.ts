import { registerTftrt } from './backend/register';

export { type Configuration, configure } from './config';
export { TftrtError } from './errors';
export { devices, type Stats, stats } from './info';

registerTftrt();
