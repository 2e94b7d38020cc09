import assert from 'node:assert/strict';
import '@tensorflow/tfjs-backend-cpu';
import { getKernelsForBackend } from '@tensorflow/tfjs-core';
import { kernelRows } from '#src/backend/kernels/index';
import type { Operand, OpRow } from '#src/backend/kernels/table';
import { nativeRuntime } from '#src/native';
import { onTftrt } from '../support/tftrt';

interface Argument {
  readonly name: string;
  readonly numberAttr?: string;
  readonly typeListAttr?: string;
  readonly typeAttr?: string;
}

interface OpDefinition {
  readonly inputArg?: Argument[];
  readonly outputArg?: Argument[];
  readonly attr?: Array<{ name: string; type: string; defaultValue?: object }>;
}

/** How an attribute can be written; the values themselves are checked when the properties run. */
const KINDS = [
  'int',
  'float',
  'bool',
  'string',
  'type',
  'list(int)',
  'list(float)',
  'list(string)',
  'list(type)',
];

const isOpRow = (row: (typeof kernelRows)[number]): row is OpRow => 'op' in row;
const isList = (operand: Operand) => typeof operand !== 'string' && 'list' in operand;

describe("the kernel tables against TensorFlow's own definitions", () => {
  onTftrt();

  for (const row of kernelRows.filter(isOpRow)) {
    it(`${row.kernel} is ${row.op}`, () => {
      const text = nativeRuntime().addon.opDefinition(row.op);
      assert.ok(text, 'there is such an op');
      const { inputArg = [], outputArg = [], attr = [] } = JSON.parse(text) as OpDefinition;

      assert.equal(row.operands.length, inputArg.length, 'number of operands');
      row.operands.forEach((operand, i) => {
        const argument = inputArg[i]!;
        assert.equal(
          isList(operand),
          argument.numberAttr !== undefined || argument.typeListAttr !== undefined,
          `${argument.name} is a list`,
        );
      });

      const given = Object.keys(row.attributes);
      for (const name of given) {
        const definition = attr.find((candidate) => candidate.name === name);
        assert.ok(definition, `${row.op} has an attribute ${name}`);
        assert.ok(KINDS.includes(definition.type), `there is a way to write a ${definition.type}`);
      }

      // TensorFlow infers dtypes from operands, unless some of these are lists.
      const inferred = row.operands.some(isList)
        ? []
        : inputArg.flatMap(({ typeAttr, typeListAttr }) => typeAttr ?? typeListAttr ?? []);
      const needed = attr.filter(({ name, defaultValue }) => !defaultValue && !inferred.includes(name));
      for (const { name } of needed) assert.ok(given.includes(name), `${name} has no default`);

      const outputs = outputArg.length;
      const isOutputList = outputArg.some(({ numberAttr, typeListAttr }) => numberAttr ?? typeListAttr);
      if (row.outputs === undefined)
        assert.ok(!isOutputList, 'a row for a list of outputs says their number');
      else if (!isOutputList) assert.equal(row.outputs({}, {}), outputs, 'number of outputs');
    });
  }

  it('have each kernel once', () => {
    const names = kernelRows.map(({ kernel }) => kernel);
    assert.deepEqual(
      names.filter((name, i) => names.indexOf(name) !== i),
      [],
    );
  });

  it('have every kernel that tfjs-backend-cpu has', () => {
    const names = (backend: string) => getKernelsForBackend(backend).map(({ kernelName }) => kernelName);
    const own = new Set(names('tftrt'));
    const cpu = names('cpu');
    assert.ok(cpu.length >= 172, `tfjs-backend-cpu has ${cpu.length} kernels`);
    assert.deepEqual(
      cpu.filter((name) => !own.has(name)),
      [],
    );
  });
});
