import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { runStep } from './run_step';

/** A jar of a Maven repository. */
export interface MavenArtifact {
  readonly group: string;
  readonly name: string;
  readonly version: string;
  readonly classifier: string;
}

/** Where Maven looks without settings of the user's. */
const CENTRAL = 'https://repo1.maven.org/maven2';

/** Downloads a file, unless its SHA-1 is not the one that the repository tells. */
const DOWNLOAD = `
import hashlib, sys, urllib.request
url, name = sys.argv[1:]
with urllib.request.urlopen(url + ".sha1", timeout=60) as answer:
    expected = answer.read().decode().split()[0]
digest, done, shown = hashlib.sha1(), 0, 0
with urllib.request.urlopen(url, timeout=60) as source, open(name, "wb") as target:
    total = int(source.headers.get("Content-Length") or 0)
    while block := source.read(1 << 20):
        target.write(block)
        digest.update(block)
        done += len(block)
        if total and done * 20 // total > shown:
            shown = done * 20 // total
            print(f"{done >> 20} of {total >> 20} MiB", flush=True)
if digest.hexdigest() != expected:
    sys.exit(f"{url} is damaged: its SHA-1 is {digest.hexdigest()}, but should be {expected}")
`;

/**
 * Downloads a jar into a folder and returns its path. Maven does it where there is one: it knows the user's mirrors,
 * proxies and passwords, and keeps a copy for itself. Otherwise Python does, from the user's mirror or Maven Central.
 */
export async function downloadArtifact(
  artifact: MavenArtifact,
  folder: string,
  step: { readonly title: string; readonly usually: string },
): Promise<string> {
  const { group, name, version, classifier } = artifact;
  const file = `${name}-${version}-${classifier}.jar`;
  const withMaven = isOnPath('mvn');
  const url = [mavenRepository(), ...group.split('.'), name, version, file].join('/');
  await runStep({
    ...step,
    ...(withMaven
      ? {
          command: 'mvn',
          args: [
            '--batch-mode',
            '--strict-checksums',
            'dependency:copy',
            `-Dartifact=${group}:${name}:${version}:jar:${classifier}`,
            `-DoutputDirectory=${folder}`,
          ],
          cwd: folder, // away from any pom.xml
        }
      : { command: 'python3', args: ['-c', DOWNLOAD, url, path.join(folder, file)] }),
    errorCode: 'TFTRT_SETUP_MAVEN',
    remedy: `Check the network, ${withMaven ? "Maven's settings (`mvn help:effective-settings`)" : `the mirror in ${settingsFile()}, if any`} and the free space in ${folder}, then run the same command again.`,
  });
  return path.join(folder, file);
}

/** The user's mirror of Maven Central, or that itself. */
export function mavenRepository(): string {
  let settings = '';
  try {
    settings = fs.readFileSync(settingsFile(), 'utf8').replace(/<!--[\s\S]*?-->/g, '');
  } catch {
    // No settings.
  }
  for (const [, mirror] of settings.matchAll(/<mirror>([\s\S]*?)<\/mirror>/g)) {
    const of = /<mirrorOf>(.*?)<\/mirrorOf>/.exec(mirror!)?.[1]?.split(',') ?? [];
    const url = /<url>(.*?)<\/url>/.exec(mirror!)?.[1]?.trim();
    const servesCentral = of.some((name) => ['*', 'external:*', 'central'].includes(name.trim()));
    if (url && servesCentral && !of.includes('!central')) return url.replace(/\/$/, '');
  }
  return CENTRAL;
}

function settingsFile(): string {
  return path.join(os.homedir(), '.m2', 'settings.xml');
}

function isOnPath(program: string): boolean {
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter(Boolean);
  return folders.some((folder) => fs.existsSync(path.join(folder, program)));
}
