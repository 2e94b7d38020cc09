import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { TftrtError } from '../errors';
import { type BuildLog, readLog } from './build_log';
import type { BuildMessage, BuildRequest, BuiltEngines } from './build_request';

/** TensorFlow's table of what it did not convert, and why. */
const NOT_CONVERTED_FILE = 'not_converted.csv';

export interface BuildOutcome {
  readonly built: BuiltEngines;
  readonly log: BuildLog;
  /** TensorFlow's CSV of ops that were not converted; empty where it wrote none. */
  readonly notConverted: string;
}

/**
 * Builds engines in another process, into `folder`. Throws `TFTRT_ENGINE_BUILD_FAILED` with what TensorFlow and TensorRT
 * said, also where they ended that process.
 */
export async function runBuildProcess(
  folder: string,
  request: BuildRequest,
  onStage: (stage: string) => void,
): Promise<BuildOutcome> {
  fs.writeFileSync(path.join(folder, 'request.json'), JSON.stringify(request));
  const csv = path.join(folder, NOT_CONVERTED_FILE);
  const child = spawn(process.execPath, [path.join(__dirname, 'build_child.js'), folder], {
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
  // A service that ends must not leave a GPU busy for minutes.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const output: Buffer[] = [];
  child.stdout!.on('data', (data) => output.push(data));
  child.stderr!.on('data', (data) => output.push(data));
  let built: BuiltEngines | undefined;
  let failure: { code: string; message: string } | undefined;
  child.on('message', (message: BuildMessage) => {
    if ('stage' in message) onStage(message.stage);
    else if ('result' in message) built = message.result;
    else failure = message.error;
  });
  const ended = await new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) =>
      resolve(signal ? `was ended by ${signal}` : `ended with exit code ${code}`),
    );
  }).finally(() => process.off('exit', kill));
  const log = readLog(Buffer.concat(output).toString());
  if (built === undefined) {
    throw new TftrtError(
      failure?.code === 'TFTRT_INVALID_ARGUMENT' ? failure.code : 'TFTRT_ENGINE_BUILD_FAILED',
      `Building the TensorRT engines failed: ${failure?.message ?? `the process that builds them ${ended}`}. ` +
        `TensorFlow goes on serving the model.${log.problems.length > 0 ? `\n${log.problems.slice(0, 5).join('\n')}` : ''}`,
    );
  }
  const notConverted = fs.existsSync(csv) ? fs.readFileSync(csv, 'utf8') : '';
  for (const name of fs.readdirSync(folder)) {
    if (name !== 'graph.pb' && !name.endsWith('.engine')) fs.rmSync(path.join(folder, name));
  }
  return { built, log, notConverted };
}

function withShape(denied: string | undefined): string {
  return denied ? `${denied},Shape` : 'Shape';
}
