import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { CUDA_LIBRARIES, TENSORRT_LIBRARIES } from '#src/setup/gpu_libraries';
import { writeFile, writeLibrary } from './helpers';

/** The interpreter itself, not a version manager's script that looks for it on the PATH. */
export const PYTHON = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], {
  encoding: 'utf8',
}).trim();

/** A `python3` whose pip copies the folder `wheels`. Everything else is the real Python's. */
const FAKE_PYTHON = `#!/bin/sh
[ "$1 $2 $3" = "-m pip install" ] || exec ${PYTHON} "$@"
echo "pip $*" >> "$FAKE/log"
while [ "$1" != --target ]; do shift; done
/bin/mkdir -p "$2" && /bin/cp -r "$FAKE/wheels/." "$2"
`;

/** A Maven that copies the file \`jar\`, or with \`maven-fails\` beside it only its first bytes. */
const FAKE_MAVEN = `#!/bin/sh
echo "mvn $*" >> "$FAKE/log"
for argument; do case "$argument" in -DoutputDirectory=*) out="\${argument#*=}" ;; esac; done
jar="$out/tensorrt-8.6-1.5.10-linux-x86_64-redist.jar"
if [ -e "$FAKE/maven-fails" ]; then echo PK > "$jar"; echo "no route to the moon" >&2; exit 1; fi
/bin/cp "$FAKE/jar" "$jar"
`;

/** What TensorFlow's wheel says about CUDA. */
export const METADATA = `Name: tensorflow
Requires-Dist: numpy <2.0.0,>=1.23.5 ; python_version <= "3.11"
Provides-Extra: and-cuda
Requires-Dist: nvidia-cublas-cu12 ==12.3.4.1 ; extra == 'and-cuda'
Requires-Dist: nvidia-cudnn-cu12 (==8.9.7.29) ; extra == "and-cuda"
`;

/** Puts pip and Maven, with what they install, into a folder. */
export function fakeRegistries(folder: string): void {
  const inside = (...names: string[]) => path.join(folder, ...names);
  writeFile(inside('bin/python3'), FAKE_PYTHON);
  writeFile(inside('bin/mvn'), FAKE_MAVEN);
  for (const program of fs.readdirSync(inside('bin'))) fs.chmodSync(inside('bin', program), 0o755);
  for (const { folder: place, file } of CUDA_LIBRARIES) writeLibrary(inside('wheels', place, file));
  for (const { file } of TENSORRT_LIBRARIES) {
    writeLibrary(inside('classes/org/bytedeco/tensorrt/linux-x86_64', file));
  }
  execFileSync('python3', ['-m', 'zipfile', '--create', inside('jar'), inside('classes/org')]);
}
