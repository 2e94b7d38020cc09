export { ensureHumanModels } from '../../demo/fetch_models';
