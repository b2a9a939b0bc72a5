import { describe, expect, it } from 'vitest';
import { KubeError } from '../../../kube/error.js';
import { usageError } from './cli-error.js';
import { EXIT, exitCodeOf } from './exit-codes.js';
import { describeFailure } from './failure.js';

const options = { program: 'drover', verbose: false };

describe('failures as they are told', () => {
  it('keep hints and exit code of the command', () => {
    expect(describeFailure(usageError('no such kind', 'say plans'), options)).toEqual({
      message: 'no such kind',
      hints: ['say plans'],
      exitCode: EXIT.usage,
    });
  });

  it('say what to do when the API server does not answer', () => {
    const error = new KubeError('cannot be reached', { code: 0, reason: 'Unreachable' });
    const failure = describeFailure(error, options);
    expect(failure.exitCode).toBe(EXIT.error);
    expect(failure.hints[0]).toContain('drover status');
  });

  it.each([
    [
      'a missing right',
      'drplans is forbidden: User "x" cannot list',
      'drplans is forbidden',
      'ask for the right',
    ],
    [
      'our own admission',
      'admission webhook "validate.dr.bkbcs.tencent.com" denied the request: plan "p" is in use',
      'refused: plan "p" is in use',
      undefined,
    ],
    [
      'a webhook of somebody else',
      'admission webhook "policy.example.com" denied the request: no',
      'admission webhook "policy.example.com"',
      'webhook policy.example.com; ask who keeps it',
    ],
  ])('tell a 403 of %s', (_, text, message, hint) => {
    const failure = describeFailure(new KubeError(text, { code: 403, reason: 'Forbidden' }), options);
    expect(failure.message).toContain(message);
    if (hint === undefined) expect(failure.hints).toEqual([]);
    else expect(failure.hints[0]).toContain(hint);
  });

  it('list the fields that the API server refused', () => {
    const error = new KubeError('is invalid', {
      code: 422,
      reason: 'Invalid',
      details: { causes: [{ field: 'spec.planRef', message: 'too long' }] },
    });
    expect(describeFailure(error, options).hints).toEqual(['spec.planRef: too long']);
  });

  it('do not say a second time what the message says already [F24]', () => {
    const error = new KubeError(
      'admission webhook "validate.dr.bkbcs.tencent.com" denied the request: spec.planRef: is too long',
      {
        code: 422,
        reason: 'Invalid',
        details: { causes: [{ field: 'spec.planRef', message: 'is too long' }] },
      },
    );
    expect(describeFailure(error, options)).toMatchObject({
      message: 'refused: spec.planRef: is too long',
      hints: [],
    });
  });

  it('say that the bridge is away, not what a webhook of its is called [F24]', () => {
    const error = new KubeError(
      'Internal error occurred: failed calling webhook "stamp.executions.dr.bkbcs.tencent.com": failed to call webhook: Post "https://127.0.0.1:20411/stamp?timeout=10s": dial tcp 127.0.0.1:20411: connect: connection refused',
      { code: 500, reason: 'InternalError' },
    );
    const { message, hints } = describeFailure(error, options);
    expect(message).toMatch(/^the bridge does not answer/);
    expect(hints[0]).toContain('"drover up" starts again what has died');
    expect(hints.at(-1)).toMatch(/says: Post .*connection refused$/);
    const other = new KubeError('failed calling webhook "policy.example.com": no answer', {
      code: 500,
      reason: 'InternalError',
    });
    expect(describeFailure(other, options).message).toBe(other.message);
  });

  it('show a stack trace only when asked to', () => {
    const error = new Error('a bug');
    expect(describeFailure(error, options).hints).toEqual([]);
    expect(describeFailure(error, { ...options, verbose: true }).hints[0]).toContain('failure.test');
  });
});

describe('exit codes of runs', () => {
  it.each([
    ['Succeeded', 0],
    ['Failed', 1],
    ['Cancelled', 2],
    ['Canceled', 2],
  ])('%s is %i', (phase, code) => {
    expect(exitCodeOf(phase)).toBe(code);
  });
});
