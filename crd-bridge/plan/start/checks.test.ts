import { describe, expect, it } from 'vitest';
import { ANNOTATIONS } from '../../../api/core/group.js';
import type { DRPlanExecution } from '../../../api/plan/types.js';
import {
  checkAbandoned,
  checkDeadline,
  checkNameReused,
  checkRestored,
  originOf,
  startDeadline,
} from './checks.js';

const created = '2026-01-01T00:00:00Z';
const execution = (over: {
  metadata?: Partial<DRPlanExecution['metadata']>;
  spec?: Partial<DRPlanExecution['spec']>;
  status?: DRPlanExecution['status'];
}): DRPlanExecution => ({
  metadata: { name: 'e', namespace: 'ns', uid: 'me', creationTimestamp: created, ...over.metadata },
  spec: { planRef: 'p', operationType: 'Execute', ...over.spec },
  ...(over.status !== undefined && { status: over.status }),
});

describe('late', () => {
  it('is what comes after 15 minutes, or after its own deadline [S5.9]', () => {
    expect(startDeadline(execution({})).toISOString()).toBe('2026-01-01T00:15:00.000Z');
    expect(checkDeadline(execution({}), new Date('2026-01-01T00:15:00Z'))).toBeUndefined();
    expect(checkDeadline(execution({}), new Date('2026-01-01T00:15:01Z'))).toMatchObject({
      reason: 'StartDeadlineExceeded',
    });
    const patient = execution({ spec: { startDeadlineSeconds: 7200 } });
    expect(checkDeadline(patient, new Date('2026-01-01T01:59:00Z'))).toBeUndefined();
  });

  it('is a moment that can be written down, however many seconds are given', () => {
    const endless = execution({
      spec: { startDeadlineSeconds: Number.MAX_SAFE_INTEGER, requestedAt: '2026-01-01T00:00:00Z' },
    });
    expect(Date.parse(startDeadline(endless).toISOString())).toBe(8.64e15);
    expect(checkDeadline(endless, new Date('2036-01-01T00:00:00Z'))).toBeUndefined();
  });
});

describe('a restored copy', () => {
  it.each([
    ['its own stamp', { annotations: { [ANNOTATIONS.stamp]: 'me' } }, false],
    ['no stamp', {}, false],
    ['the stamp of another', { annotations: { [ANNOTATIONS.stamp]: 'other' } }, true],
    ['a label of a restore tool', { labels: { 'velero.io/restore-name': 'r' } }, true],
    ['a label of a backup product', { labels: { 'k10.kasten.io/appName': 'a' } }, true],
  ])('with %s [S5.11]', (_, metadata, refused) => {
    expect(checkRestored(execution({ metadata }))?.reason).toBe(refused ? 'RestoredCopy' : undefined);
  });
});

describe('the original of a restored copy', () => {
  const UID = '11111111-0000-4000-8000-000000000000';
  const stamped = (stamp: string) => ({ annotations: { [ANNOTATIONS.stamp]: stamp } });
  const ran = (digits: string, phase = 'Succeeded') => ({
    phase,
    temporal: { workflowId: `dr/c0ffee00/ns/e/${digits}` },
  });

  it.each([
    ['is the one of its stamp, where the recorded run bears that out', stamped(UID), ran('11111111'), UID],
    [
      'is unknown where the run was another one: anybody may write a stamp',
      stamped(UID),
      ran('22222222'),
      undefined,
    ],
    ['is unknown without a run', stamped(UID), undefined, undefined],
    ['is unknown where the stamp is no uid', stamped('11111111'), ran('11111111'), undefined],
    ['is unknown without a stamp', {}, ran('11111111'), undefined],
    ['is itself with its own stamp', { ...stamped(UID), uid: UID }, ran('11111111'), undefined],
  ])('%s [S5.60]', (_, metadata, status, origin) => {
    expect(originOf(execution({ metadata, status }))).toBe(origin);
  });

  it('may have gone on, and the refusal says so [S5.60]', () => {
    const live = execution({ metadata: stamped(UID), status: ran('11111111', 'Running') });
    expect(checkRestored(live)?.message).toContain(
      'when it was backed up, it ran as "dr/c0ffee00/ns/e/11111111", and what that run has done since is not known here',
    );
    const ended = execution({ metadata: stamped(UID), status: ran('11111111') });
    expect(checkRestored(ended)?.message).not.toContain('backed up');
  });
});

describe('an execution of the previous controller', () => {
  it('is one without a stamp that already has a phase [S5.14]', () => {
    const status = { phase: 'Running' };
    const stamped = { annotations: { [ANNOTATIONS.stamp]: 'me' } };
    expect(checkAbandoned(execution({ status }))?.reason).toBe('AbandonedByPreviousController');
    expect(checkAbandoned(execution({ status, metadata: stamped }))).toBeUndefined();
    expect(checkAbandoned(execution({}))).toBeUndefined();
  });
});

describe('a name used again', () => {
  const history = {
    executionHistory: [{ name: 'e', uid: 'old', operationType: 'Execute', phase: 'Succeeded' }],
  };
  const tracked = { labels: { 'argocd.argoproj.io/instance': 'app' } };

  it('is refused when a GitOps tool applied it [S5.12]', () => {
    expect(checkNameReused(execution({ metadata: tracked }), history)?.reason).toBe('NameReused');
    const flux = { labels: { 'kustomize.toolkit.fluxcd.io/name': 'app' } };
    expect(checkNameReused(execution({ metadata: flux }), history)?.reason).toBe('NameReused');
  });

  it('is refused too when the original controller ran it, whose rows have no uid [S5.12]', () => {
    const rows = { executionHistory: [{ name: 'e', operationType: 'Execute', phase: 'Succeeded' }] };
    expect(checkNameReused(execution({ metadata: tracked }), rows)).toMatchObject({
      reason: 'NameReused',
      message: expect.stringContaining('under the previous controller'),
    });
    expect(checkNameReused(execution({}), rows)).toBeUndefined();
  });

  it('is fine by hand, for a first use, and for the very same object', () => {
    expect(checkNameReused(execution({}), history)).toBeUndefined();
    expect(checkNameReused(execution({ metadata: tracked }), undefined)).toBeUndefined();
    expect(checkNameReused(execution({ metadata: { ...tracked, uid: 'old' } }), history)).toBeUndefined();
  });
});
