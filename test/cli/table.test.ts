import { stripVTControlCharacters } from 'node:util';
import { expect } from 'chai';
import type { Check } from '#src/cli/check';
import { renderDiagnosis } from '#src/cli/table';
import { visibleGpus } from '#src/cli/visible_gpus';
import { useEnvironment } from '../setup/helpers';

describe('renderDiagnosis', () => {
  const fine: Check = { name: 'A', status: 'ok', version: '1.2', path: '/a' };
  const bad: Check = {
    name: 'Longer',
    status: 'missing',
    problem: 'It is gone.\n  really',
    remedy: 'Fetch it.',
  };

  it('aligns columns and ends with a verdict', () => {
    expect(
      renderDiagnosis({ ok: true, checks: [fine, { name: 'Other', status: 'not needed' }], complaints: [] }),
    ).to.equal('A      ok          1.2  /a\nOther  not needed\n\nAll is well.\n');
  });

  it('says each problem once, with what to do', () => {
    const complaint = {
      code: 'TFTRT_X',
      problem: 'Things are gone:\nIt is gone.\n  really',
      remedy: 'Fetch it.',
    };
    expect(renderDiagnosis({ ok: false, checks: [fine, bad], complaints: [complaint] })).to.equal(
      'A       ok       1.2  /a\nLonger  missing       It is gone.\n\n' +
        'Things are gone:\nIt is gone.\n  really\nFetch it.\n\nNot all is well: see above.\n',
    );
    expect(renderDiagnosis({ ok: false, checks: [bad], complaints: [] })).to.contain(
      '\n\nLonger: It is gone.\n  really\nFetch it.\n\n',
    );
  });

  it('colours the statuses of a terminal, and nothing else', () => {
    const plain = renderDiagnosis({ ok: false, checks: [fine, bad], complaints: [] });
    const coloured = renderDiagnosis({ ok: false, checks: [fine, bad], complaints: [] }, true);
    expect(coloured).to.contain('\u001b[31mmissing\u001b[0m').and.contain('\u001b[32mok     \u001b[0m');
    expect(stripVTControlCharacters(coloured)).to.equal(plain);
  });
});

describe('visibleGpus', () => {
  useEnvironment(() => ({ CUDA_VISIBLE_DEVICES: undefined }));

  it('counts the driver’s files, at least one', () => {
    expect(visibleGpus(['nvidia0', 'nvidia3'])).to.deep.equal(['gpu:0', 'gpu:1']);
    expect(visibleGpus([])).to.deep.equal(['gpu:0']);
  });

  it('heeds CUDA_VISIBLE_DEVICES', () => {
    process.env.CUDA_VISIBLE_DEVICES = '3';
    expect(visibleGpus(['nvidia0', 'nvidia1', 'nvidia3'])).to.deep.equal(['gpu:0']);
    process.env.CUDA_VISIBLE_DEVICES = '0,1,2';
    expect(visibleGpus(['nvidia0', 'nvidia1'])).to.deep.equal(['gpu:0', 'gpu:1']);
  });
});
