/** What TensorFlow's log tells of a build. */
export interface BuildLog {
  /** Engine → how long building it took. */
  readonly buildMs: Readonly<Record<string, number>>;
  /** Engine → why TensorRT could not build it. */
  readonly failed: Readonly<Record<string, string>>;
  /** Warnings and errors of TF-TRT and TensorRT, without time and place. */
  readonly problems: readonly string[];
  /** What there was too little of: memory of the GPU, or of it what a layer may use as scratch. */
  readonly lack?: 'memory' | 'workspace';
}

/** How TensorFlow, CUDA and TensorRT put it. All lines count: TensorFlow's allocator and CUDA have files of their own. */
const OUT_OF_WORKSPACE = /insufficient workspace/i;
const OUT_OF_MEMORY =
  /out ?of ?(GPU )?memory|OOM when allocating|insufficient memory|memory is insufficient|GPU memory .* could not be allocated/i;

const LINE = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+): ([IWEF]) (\S+?):\d+\] (.*)$/;

/** Reads the log that a building process wrote, with TF_CPP_VMODULE=trt_engine_op=1. */
export function readLog(text: string): BuildLog {
  const begun: Record<string, number> = {};
  const buildMs: Record<string, number> = {};
  const failed: Record<string, string> = {};
  const problems: string[] = [];
  for (const line of text.split('\n')) {
    const match = LINE.exec(line);
    if (match === null) continue;
    const [, time, level, file, message] = match as unknown as [string, string, string, string, string];
    const at = Date.parse(`${time.replace(' ', 'T').slice(0, 23)}Z`);
    const engine = /(TRTEngineOp_\d+_\d+)/.exec(message)?.[1];
    if (engine !== undefined) {
      if (/Building a new TensorRT engine|Starting calibration|Constructing calibrator/.test(message))
        begun[engine] ??= at;
      if (/Added new engine|Calibration loop terminated/.test(message) && begun[engine] !== undefined) {
        buildMs[engine] = at - begun[engine]!;
      }
      const reason = /Engine creation for .* failed\..*Reason: (.*)$/.exec(message)?.[1];
      if (reason !== undefined) failed[engine] = reason;
    }
    if (level !== 'I' && /tf2tensorrt/.test(file)) problems.push(message);
  }
  const lack = OUT_OF_WORKSPACE.test(text) ? 'workspace' : OUT_OF_MEMORY.test(text) ? 'memory' : undefined;
  return { buildMs, failed, problems, ...(lack === undefined ? {} : { lack }) };
}

/** Rows of TensorFlow's table of ops that were not converted: op, reason, count. */
export function readNotConverted(csv: string): Array<{ op: string; reason: string; count: number }> {
  const rows = csv.split('\n').slice(1);
  return rows.flatMap((row) => {
    const [op, ...rest] = row.split('|').map((cell) => cell.trim());
    const count = Number(rest.pop());
    if (!op || !Number.isInteger(count)) return [];
    return [{ op, reason: rest.join('|'), count }];
  });
}
