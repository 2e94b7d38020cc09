export { ensureFaceApiDemo, ensureHumanModels } from '../../demo/fetch_models';
