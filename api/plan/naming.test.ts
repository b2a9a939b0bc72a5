import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  aboutWorkflow,
  childSubscriptionName,
  clusterId,
  fieldManager,
  idempotencyKey,
  jobName,
  labelValue,
  managerDigest,
  priorSecretName,
  runWorkflowId,
  shorten,
  snapshotName,
} from './naming.js';

const DNS_LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$/;
const at = { stage: 0, workflow: 1, action: 2 };

describe('shorten', () => {
  it('keeps a name that is short and safe', () => {
    expect(shorten('switch-dns', 63)).toBe('switch-dns');
  });

  it('gives two long names with the same beginning different results [S6.3]', () => {
    const head = 'a'.repeat(80);
    expect(shorten(`${head}1`, 63)).not.toBe(shorten(`${head}2`, 63));
  });

  it('tells names apart that differ only in case or in unsafe characters', () => {
    const results = ['step-one', 'Step-One', 'step_one', 'step.one'].map((name) => shorten(name, 63));
    expect(new Set(results).size).toBe(4);
  });

  it('gives a DNS label within the limit for any text', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), fc.integer({ min: 8, max: 100 }), (text, max) => {
        const name = shorten(text, max);
        expect(name.length).toBeLessThanOrEqual(max);
        expect(name).toMatch(DNS_LABEL);
      }),
    );
  });
});

describe('labelValue', () => {
  it('is valid for any text and keeps valid ones', () => {
    expect(labelValue('My.plan_1')).toBe('My.plan_1');
    expect(labelValue('')).toBe('');
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (text) => {
        expect(labelValue(text).length).toBeLessThanOrEqual(63);
        expect(labelValue(text)).toMatch(LABEL_VALUE);
      }),
    );
  });
});

describe('ids', () => {
  it('takes the first eight characters of the kube-system uid', () => {
    expect(clusterId('0f3c2b1a-9d8e-4c7b-a6f5-123456789012')).toBe('0f3c2b1a');
  });

  it('keeps a workflow id readable and below 200 characters [S6.2]', () => {
    const execution = {
      cluster: '0f3c2b1a',
      namespace: 'shop',
      name: 'failover.1',
      uid: '11112222-3333-4444-5555-666677778888',
    };
    expect(runWorkflowId(execution)).toBe('dr/0f3c2b1a/shop/failover.1/11112222');
    expect(aboutWorkflow(`${runWorkflowId(execution)}/s0`)).toEqual({ execution: 'shop/failover.1' });
    expect(aboutWorkflow('drover-claim')).toEqual({});
    expect(aboutWorkflow(runWorkflowId({ ...execution, name: 'x'.repeat(253) }))).toEqual({});
    const long = runWorkflowId({ ...execution, namespace: 'n'.repeat(63), name: 'x'.repeat(253) });
    expect(long.length).toBeLessThanOrEqual(200);
    expect(long).not.toBe(runWorkflowId({ ...execution, namespace: 'n'.repeat(63), name: 'x'.repeat(252) }));
  });

  it('puts position, direction and round into the key [S3.7]', () => {
    expect(idempotencyKey({ uid: 'u-1', at, direction: 'forward', round: 0 })).toBe('u-1/s0/w1/a2/forward/0');
    expect(idempotencyKey({ uid: 'u-1', at, direction: 'undo', round: 3 })).toBe('u-1/s0/w1/a2/undo/3');
  });
});

describe('Subscriptions per cluster', () => {
  it('are told apart by the namespace of the cluster', () => {
    expect(childSubscriptionName('web', 'clusternet-a/site-1')).toBe('web--clusternet-a.site-1');
    expect(childSubscriptionName('web', 'a-b/c')).not.toBe(childSubscriptionName('web', 'a/b-c'));
  });

  it('have names that Clusternet can gather state by, different for different clusters', () => {
    const long = childSubscriptionName('demo-app-db-migrate-subscription', 'clusternet-abcde/cluster-one');
    const other = childSubscriptionName('demo-app-db-migrate-subscription', 'clusternet-abcdf/cluster-one');
    expect(long.length).toBeLessThanOrEqual(57);
    expect(long).not.toBe(other);
    expect(long).toMatch(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
  });

  it('and what is kept for them have the cluster in their identity', () => {
    const at = { stage: 0, workflow: 1, action: 2, cluster: 'ns/a' };
    const key = idempotencyKey({ uid: 'u', at, direction: 'forward', round: 3 });
    expect(key).toBe('u/s0/w1/a2@ns/a/forward/3');
    const secret = (cluster: string) =>
      priorSecretName({ executionName: 'run', uid: '12345678', at: { ...at, cluster } });
    expect(secret('ns/a')).not.toBe(secret('ns/b'));
  });
});

describe('object names', () => {
  const key = (round: number): string => idempotencyKey({ uid: 'u-1', at, direction: 'forward', round });

  it('names a Job by execution, action and round', () => {
    const name = jobName({ executionName: 'run-1', actionName: 'promote', key: key(2) });
    expect(name).toMatch(/^run-1-promote-[0-9a-f]{8}-2$/);
    expect(jobName({ executionName: 'run-1', actionName: 'promote', key: key(2) })).toBe(name);
    expect(jobName({ executionName: 'run-1', actionName: 'promote', key: key(3) })).not.toBe(name);
  });

  it('stays a DNS label of at most 63 characters for any names [S3.25]', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 253 }),
        fc.string({ maxLength: 253 }),
        fc.nat(1e6),
        (executionName, actionName, round) => {
          const name = jobName({ executionName, actionName, key: key(round) });
          expect(name.length).toBeLessThanOrEqual(63);
          expect(name).toMatch(DNS_LABEL);
        },
      ),
    );
  });

  it('names snapshots by content and prior state by position', () => {
    expect(snapshotName({ planName: 'shop', digest: 'ab'.repeat(32) })).toBe('shop-abababababababab');
    expect(priorSecretName({ executionName: 'run-1', uid: '11112222-3333', at })).toBe(
      'run-1-11112222-prior-0-1-2',
    );
  });
});

describe('fieldManager', () => {
  const place = {
    plan: { namespace: 'dr', name: 'shop' },
    stage: 'stop',
    workflow: { namespace: 'dr', name: 'old-site', use: 0 },
    action: 'scale',
  };

  it('[F5] names plan and action, and tells every place from any other [S3.46]', () => {
    const digest = managerDigest(place);
    expect(digest).toMatch(/^[0-9a-f]{12}$/);
    expect(fieldManager({ planName: 'shop', actionName: 'scale', digest })).toBe(
      `drover/shop/scale/${digest}`,
    );
    const others = [
      { ...place, plan: { namespace: 'other', name: 'shop' } },
      { ...place, stage: 'start' },
      { ...place, workflow: { ...place.workflow, namespace: 'x' } },
      { ...place, workflow: { ...place.workflow, name: 'y' } },
      { ...place, workflow: { ...place.workflow, use: 1 } },
      { ...place, action: 'mark' },
    ];
    expect(new Set([digest, ...others.map(managerDigest)]).size).toBe(others.length + 1);
  });

  it('[F5] fits what the API server takes, for any names [S3.46]', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 300 }),
        fc.string({ unit: 'binary', maxLength: 300 }),
        (plan, action) => {
          const manager = fieldManager({
            planName: plan,
            actionName: action,
            digest: managerDigest({ ...place, action }),
          });
          expect(manager).toMatch(/^drover\/[\x21-\x7e]*\/[0-9a-f]{12}$/);
          expect(Buffer.byteLength(manager)).toBeLessThanOrEqual(113);
          expect(manager).not.toMatch(/["\\]/);
        },
      ),
    );
  });
});
