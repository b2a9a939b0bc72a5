import { describe, expect, it } from 'vitest';
import { envelopeOf } from '../../../workflows/plan/contract-updates.js';
import type { FinishUpdate, MirrorUpdate } from '../../../workflows/plan/contract-updates.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import { createMirrorRow, endOf, updateOf } from './mirror-row.js';

const run = { namespace: 'ns', name: 'e', uid: 'u' } as RunIdentity;
const stages: MirrorUpdate['stages'] = [{ index: 0, status: { name: 's', phase: 'Running' } }];

function setup() {
  const vouched: unknown[] = [];
  const row = createMirrorRow({
    mirror: { mirror: () => Promise.reject(new Error()), finish: () => Promise.resolve() },
    vouching: {
      run: (_: RunIdentity, stage?: number) => {
        vouched.push(stage);
        return Promise.resolve();
      },
    } as never,
  });
  return { row, vouched };
}

describe('what a run says', () => {
  it('in an envelope is what it said without one in the release before [S6.5]', () => {
    const { row } = setup();
    const former: MirrorUpdate = { run, from: 3, sequence: 7, stages, message: 'm' };
    const now = envelopeOf(run, 3, 7, { stages, message: 'm' });
    expect(now).toMatchObject({ kind: 'DRPlanExecution', epoch: 1, speaker: 's3', sequence: 7 });
    expect(updateOf(now)).toEqual(former);
    const read = row.former?.(former);
    expect(read).toMatchObject({ object: now.object, speaker: 's3', sequence: 7 });
    expect(read === undefined ? undefined : updateOf(read)).toEqual(former);
  });

  it('of its end, too', () => {
    const { row } = setup();
    const content = {
      phase: 'Succeeded' as const,
      reason: 'Succeeded',
      message: '',
      startTime: 't',
      completionTime: 't',
      stages,
    };
    const former: FinishUpdate = { run, sequence: 9, ...content };
    expect(endOf(envelopeOf(run, 'run', 9, content))).toEqual(former);
    const read = row.former?.(former);
    expect(read?.speaker).toBe('run');
    expect(read === undefined ? undefined : endOf(read)).toEqual({ ...former, sequence: 9 });
  });

  it('is vouched for as that of the run or of the stage that says it, and of no other object', async () => {
    const { row, vouched } = setup();
    await row.vouch(envelopeOf(run, 'run', 1, { stages }));
    await row.vouch(envelopeOf(run, 12, 1, { stages }));
    expect(vouched).toEqual([undefined, 12]);
    const other = { ...envelopeOf(run, 'run', 1, { stages }), object: { ...run, uid: 'other' } };
    await expect(row.vouch(other)).rejects.toMatchObject({ type: 'NotSealed', nonRetryable: true });
    const empty = { ...envelopeOf(run, 'run', 1, { stages }), update: {} };
    await expect(row.vouch(empty)).rejects.toMatchObject({ type: 'NotSealed', nonRetryable: true });
    expect(vouched).toHaveLength(2);
  });

  it('and is not of a run of a plan is left to others', () => {
    expect(setup().row.former?.({ run: 'x' })).toBeUndefined();
  });
});
