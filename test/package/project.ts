import { execFile, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { cacheDir, packageRoot } from '#src/setup/paths';
import { isUnreachable } from '../support/npm';
import { pack } from './pack';

/** All that is on the PATH: Node.js with npm, and the shell that npm runs commands with. No compiler, no Python. */
const TOOLS = ['node', 'npm', 'npx', 'sh', 'env'];

/** What became of a command. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A plain npm project that has this package as a user gets it: packed, and installed beside tfjs. */
export class Project {
  constructor(readonly folder: string) {}

  /**
   * Installs the packages; takes some 300 MB of disk. False, with a message, where npm's registry cannot be reached and its
   * cache has not all of them.
   */
  install(): boolean {
    this.linkTools();
    const { devDependencies } = JSON.parse(fs.readFileSync(path.join(packageRoot, 'package.json'), 'utf8'));
    this.write('package.json', JSON.stringify({ name: 'client', private: true }));
    // Nothing that npm would say, on its own account, on what commands write to stderr.
    this.write('.npmrc', 'update-notifier=false\nfund=false\naudit=false\n');
    const packages = [pack(this.folder).file, `@tensorflow/tfjs@${devDependencies['@tensorflow/tfjs']}`];
    try {
      execFileSync(
        'npm',
        ['install', '--prefer-offline', '--fetch-retries=1', '--fetch-retry-mintimeout=1000', ...packages],
        { cwd: this.folder, encoding: 'utf8', stdio: 'pipe', env: this.environment() },
      );
      return true;
    } catch (error) {
      if (!isUnreachable(error as Error)) throw error;
      console.warn(`Not tested as installed: npm's registry cannot be reached.\n${(error as Error).message}`);
      return false;
    }
  }

  write(file: string, text: string): void {
    fs.writeFileSync(path.join(this.folder, file), text);
  }

  /** Runs a command line in the project's folder, as someone who types it there. */
  run(commandLine: string): Promise<Ran> {
    return new Promise((resolve, reject) => {
      execFile(
        'sh',
        ['-c', commandLine],
        { cwd: this.folder, env: this.environment(), timeout: 120_000 },
        (error, stdout, stderr) => {
          const code = error === null ? 0 : error.code;
          if (typeof code === 'number') resolve({ code, stdout, stderr });
          else reject(error);
        },
      );
    });
  }

  private get tools(): string {
    return path.join(this.folder, 'tools');
  }

  private linkTools(): void {
    fs.mkdirSync(this.tools);
    for (const tool of TOOLS) {
      const program = execFileSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).trim();
      fs.symlinkSync(
        tool === 'node' ? process.execPath : fs.realpathSync(program),
        path.join(this.tools, tool),
      );
    }
  }

  /** TensorFlow is the one that is there. What npm and the tests set must not reach the project. */
  private environment(): NodeJS.ProcessEnv {
    const inherited = Object.entries(process.env).filter(
      ([name]) =>
        !/^(npm_(?!config_(registry|cache|.*proxy|cafile))|NODE_OPTIONS$|TFTRT_ADDON_DIR$|INIT_CWD$)/i.test(
          name,
        ),
    );
    return {
      ...Object.fromEntries(inherited),
      PATH: this.tools,
      TFTRT_CACHE_DIR: cacheDir(),
      TFTRT_DEVICE: 'cpu',
    };
  }
}
