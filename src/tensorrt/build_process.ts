import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import type { Socket } from 'node:net';
import path from 'node:path';
import { TftrtError } from '../errors';
import { type BuildLog, readLog } from './build_log';
import { type BuildMemory, memoryAdvice } from './build_memory';
import type { BuildMessage, BuildRequest, BuiltEngines } from './build_request';

/** TensorFlow's table of what it did not convert, and why. */
const NOT_CONVERTED_FILE = 'not_converted.csv';
const BUILDER = path.join(__dirname, 'build_child.js');

export interface BuildOutcome {
  readonly built: BuiltEngines;
  readonly memory?: BuildMemory;
  readonly log: BuildLog;
  /** TensorFlow's CSV of ops that were not converted; empty where it wrote none. */
  readonly notConverted: string;
}

/**
 * Builds engines in another process, into `folder`. Throws `TFTRT_ENGINE_BUILD_FAILED` with what TensorFlow and TensorRT
 * said, also where they ended that process. In the background it does not keep this one from ending, and ends with it.
 */
export async function runBuildProcess(
  folder: string,
  request: BuildRequest,
  onStage: (stage: string) => void,
  background = false,
): Promise<BuildOutcome> {
  fs.writeFileSync(path.join(folder, 'request.json'), JSON.stringify(request));
  const csv = path.join(folder, NOT_CONVERTED_FILE);
  const child = spawn(process.execPath, [BUILDER, folder, String(process.pid)], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: {
      ...process.env,
      TFTRT_TEST_VIRTUAL_GPUS: undefined,
      // The log tells when an engine is begun and done, and why one fails.
      TF_CPP_MIN_LOG_LEVEL: '0',
      TF_CPP_VMODULE: 'trt_engine_op=1',
      TF_TRT_SHOW_DETAILED_REPORT: csv,
      // An engine with such an output has ended processes (tensorflow/tensorrt#251).
      ...(request.implicitBatch ? {} : { TF_TRT_OP_DENYLIST: withShape(process.env.TF_TRT_OP_DENYLIST) }),
    },
  });
  if (background) detach(child);
  // A service that ends must not leave a GPU busy for minutes, nor its files; build_child.ts sees to other ends.
  const cleanUp = () => {
    child.kill('SIGKILL');
    try {
      fs.rmSync(folder, { recursive: true, force: true });
    } catch {
      // It wrote a last file meanwhile: what is left goes when the cache is looked through the next time.
    }
  };
  process.once('exit', cleanUp);
  const output: Buffer[] = [];
  child.stdout!.on('data', (data) => output.push(data));
  child.stderr!.on('data', (data) => output.push(data));
  let built: BuiltEngines | undefined;
  let memory: BuildMemory | undefined;
  let failure: { code: string; message: string } | undefined;
  let thrown: unknown;
  const tell = (stage: string) => {
    try {
      onStage(stage);
    } catch (error) {
      thrown ??= error;
      child.kill('SIGKILL');
    }
  };
  child.on('message', (message: BuildMessage) => {
    if ('stage' in message) tell(message.stage);
    else if ('result' in message) ({ result: built, memory } = message);
    else failure = message.error;
  });
  const ended = await new Promise<string>((resolve, reject) => {
    child.once('error', (cause) =>
      reject(
        new TftrtError(
          'TFTRT_ENGINE_BUILD_FAILED',
          `The process that builds the TensorRT engines cannot be started: ${cause.message}. TensorFlow goes on serving the model.`,
          { cause },
        ),
      ),
    );
    child.once('close', (code, signal) =>
      resolve(signal ? `was ended by ${signal}` : `ended with exit code ${code}`),
    );
  }).finally(() => process.off('exit', cleanUp));
  if (thrown !== undefined) throw thrown;
  const log = readLog(Buffer.concat(output).toString());
  if (built === undefined) {
    const lack = log.lack ?? (failure?.code === 'TFTRT_RESOURCE_EXHAUSTED' ? 'memory' : undefined);
    throw new TftrtError(
      failure?.code === 'TFTRT_INVALID_ARGUMENT' ? failure.code : 'TFTRT_ENGINE_BUILD_FAILED',
      `Building the TensorRT engines failed: ${failure?.message ?? `the process that builds them ${ended}`}. ` +
        `TensorFlow goes on serving the model.${memoryAdvice(lack, request)}${log.problems.length > 0 ? `\n${log.problems.slice(0, 5).join('\n')}` : ''}`,
    );
  }
  const notConverted = fs.existsSync(csv) ? fs.readFileSync(csv, 'utf8') : '';
  for (const name of fs.readdirSync(folder)) {
    if (name !== 'graph.pb' && !name.endsWith('.engine')) fs.rmSync(path.join(folder, name));
  }
  return { built, log, notConverted, ...(memory === undefined ? {} : { memory }) };
}

/** Has nothing of the child keep the event loop alive. */
function detach(child: ChildProcess): void {
  child.unref();
  child.channel?.unref();
  for (const stream of [child.stdout, child.stderr]) (stream as Socket | null)?.unref();
}

function withShape(denied: string | undefined): string {
  return denied ? `${denied},Shape` : 'Shape';
}
