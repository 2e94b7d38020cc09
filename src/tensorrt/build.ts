import fs from 'node:fs';
import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { Handle } from '../native';
import type { Request } from '../program/requests';
import { refusedRun } from './build_memory';
import type { Buildable, BuildContext } from './context';
import { type Calibration, type EngineContent, findOrBuildEngines } from './engines';
import {
  type BuildOptions,
  type BuildProgress,
  invalid,
  type ResolvedOptions,
  resolveOptions,
} from './options';
import { type BuildProfile, bindSample, hold, profilesOf } from './profiles';
import { ConversionReport, type ProfileReport } from './report';
import { setRuntimeBuilds } from './runtime_builds';
import { serveEngines } from './serving';

/**
 * Builds engines for a model, or takes them from the cache, and has them serve where they are right and faster. In the
 * background it does not keep this process from ending.
 */
export async function buildModel(
  model: Buildable,
  options: BuildOptions,
  background = false,
): Promise<ConversionReport> {
  const { addon } = model.backend.runtime;
  // Engines are not built in the background meanwhile.
  const claimed = !background && addon.claimBuild();
  try {
    return await new Build(model, options, background).run();
  } finally {
    if (claimed) addon.endBuild();
  }
}

class Build implements BuildContext {
  readonly options: ResolvedOptions;
  private readonly begun = performance.now();
  /** Samples, held until the end whoever disposes of them meanwhile. */
  private readonly held: TensorInfo[] = [];

  constructor(
    readonly model: Buildable,
    private readonly given: BuildOptions,
    readonly background: boolean,
  ) {
    this.options = resolveOptions(given, model.backend.runtime.configuration);
  }

  async run(): Promise<ConversionReport> {
    const { model, options } = this;
    const { backend, program } = model;
    const { addon } = backend.runtime;
    let graph: Handle | undefined;
    try {
      this.tell('preparing', 'reading the model');
      const { profiles, request } = profilesOf(model, this.given, this.held);
      const sets = this.calibrationSets();
      graph = await program.tierSource().graph(request.feeds, request.fetches);
      const reports: ProfileReport[] = [];
      const tables: Record<string, string> = {};
      for (const [index, profile] of profiles.entries()) {
        const calibration = { sets, tables: this.calibrationTables(index) };
        const { report, content } = await this.buildProfile(profile, request, graph, calibration);
        reports.push(report);
        for (const [engine, table] of Object.entries(content.calibrationTables))
          tables[`${index}/${engine}`] = table;
      }
      if (!this.background) setRuntimeBuilds(program, this.given);
      this.tell('done', 'done');
      return new ConversionReport(
        model.label,
        options.precision,
        reports,
        performance.now() - this.begun,
        Object.keys(tables).length > 0 ? JSON.stringify(tables) : undefined,
      );
    } catch (error) {
      program.requireLive(); // disposed of meanwhile: that says more
      throw error;
    } finally {
      if (graph !== undefined) addon.releaseGraph(graph);
      for (const info of this.held) backend.letGo(info);
    }
  }

  private async buildProfile(
    profile: BuildProfile,
    request: Request,
    graph: Handle,
    calibration: Calibration,
  ): Promise<{ report: ProfileReport; content: EngineContent }> {
    const found = await findOrBuildEngines(this, profile, graph, calibration);
    const { content } = found;
    try {
      const report = await serveEngines(this, profile, request, graph, found);
      return {
        content,
        report: content.memory === undefined ? report : { ...report, buildMemory: content.memory },
      };
    } catch (error) {
      throw refusedRun(error, this.model.label);
    } finally {
      if (found.temporary) fs.rmSync(found.directory, { recursive: true, force: true });
    }
  }

  private calibrationSets(): TensorInfo[][] {
    const { calibration, outputs } = this.given;
    if (calibration === undefined || !('inputs' in calibration)) return [];
    return calibration.inputs.map((inputs) => {
      const set = [...bindSample(this.model, inputs, outputs).inputs];
      hold(this.model.backend, set, this.held);
      return set;
    });
  }

  /** The tables of one profile: `calibrationTable` of a report has them under the profile's number. */
  private calibrationTables(profile: number): Record<string, string> {
    const { calibration } = this.given;
    if (calibration === undefined || !('table' in calibration)) return {};
    let all: Record<string, string> | null;
    try {
      all = JSON.parse(calibration.table);
    } catch {
      all = null;
    }
    if (all === null || typeof all !== 'object') {
      throw invalid('calibration.table is damaged', '`calibrationTable` of a report');
    }
    const prefix = `${profile}/`;
    return Object.fromEntries(
      Object.entries(all)
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, table]) => [name.slice(prefix.length), table]),
    );
  }

  tell(stage: BuildProgress['stage'], message: string): void {
    this.given.onProgress?.({ stage, message, elapsedMs: performance.now() - this.begun });
  }
}
