import type { Configuration } from '../config';
import type { Program } from '../program/program';
import type { BuildOptions } from './options';

/** Options of a build that hold for those that follow it by themselves. */
const INHERITED = [
  'precision',
  'maxWorkspaceSizeBytes',
  'minimumSegmentSize',
  'useCalibration',
  'cache',
  'tolerance',
  'force',
] as const satisfies ReadonlyArray<keyof BuildOptions>;

/** How engines are built for calls of a model that recur. */
export interface RuntimeBuilds {
  readonly allowed: boolean;
  /** For how many sets of shapes there may be engines. */
  readonly most: number;
  readonly options: BuildOptions;
}

/** What the last build of a model said; without its samples, which others own. */
interface Said extends Pick<BuildOptions, 'allowBuildAtRuntime' | 'maximumCachedEngines'> {
  readonly inherited: BuildOptions;
}

const saidOf = new WeakMap<Program, Said>();

/** From now on what a build of the model said holds for it; what it left out, `configure` says. */
export function setRuntimeBuilds(program: Program, options: BuildOptions): void {
  const { allowBuildAtRuntime, maximumCachedEngines } = options;
  const inherited = Object.fromEntries(
    INHERITED.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]),
  );
  saidOf.set(program, { allowBuildAtRuntime, maximumCachedEngines, inherited });
}

export function runtimeBuilds(program: Program, configuration: Configuration): RuntimeBuilds {
  const said = saidOf.get(program);
  const most = said?.maximumCachedEngines ?? configuration.maximumCachedEngines ?? Number.POSITIVE_INFINITY;
  const options = said?.inherited ?? {};
  // It was checked, with the precision, when it was said.
  if (said?.allowBuildAtRuntime) return { allowed: true, most, options };
  const allowed = said?.allowBuildAtRuntime ?? configuration.allowBuildAtRuntime ?? false;
  const precision = options.precision ?? configuration.precision;
  return { allowed: allowed && precision !== 'INT8', most, options };
}
