import { expect } from 'chai';
import { packageVersion } from '#src/setup/paths';
import { tftrt } from './run_cli';

describe('tftrt', () => {
  it('prints its usage with --help', async () => {
    for (const args of [
      ['--help'],
      ['-h'],
      ['help'],
      ['doctor', '--help'],
      ['doctor', '-h'],
      ['install', '--help'],
    ]) {
      const { code, stdout, stderr } = await tftrt(args);
      expect(code).to.equal(0);
      expect(stdout).to.contain('tftrt doctor [--json]').and.contain('tftrt install [--gpu] [--from FOLDER]');
      expect(stderr).to.equal('');
    }
  });

  it('prints its version with --version', async () => {
    for (const args of [['--version'], ['-v'], ['doctor', '--version'], ['install', '--version']]) {
      expect(await tftrt(args)).to.deep.equal({ code: 0, stdout: `${packageVersion()}\n`, stderr: '' });
    }
  });

  const wrong: [string[], string][] = [
    [[], 'a command is missing'],
    [['docter'], "'docter' is no command"],
    [['constructor'], "'constructor' is no command"],
    [['--json'], "'--json' is no command"],
    [['doctor', '--jason'], '--jason'],
    [['doctor', 'now'], 'now'],
    [['install', '--from'], '--from'],
    [['install', '--gpu=1'], '--gpu'],
    [['install', '--from', '/nowhere/at/all'], "'/nowhere/at/all' is no folder"],
    [['install', '--from', ''], "'' is no folder"],
    [['install', '--from', '/tmp', '--from', '/etc'], '--from is there 2 times'],
    [['install', 'folder'], 'folder'],
  ];
  for (const [args, said] of wrong) {
    it(`refuses \`tftrt ${args.join(' ')}\``, async () => {
      const { code, stdout, stderr } = await tftrt(args);
      expect(code).to.equal(2);
      expect(stdout).to.equal('');
      expect(stderr)
        .to.match(/^tftrt: /)
        .and.contain(said)
        .and.contain('usage: tftrt COMMAND');
    });
  }
});
