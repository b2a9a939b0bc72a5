import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { ANNOTATIONS, FINALIZERS } from '../../../api/core/group.js';
import type { MetadataFields, StatusWriter } from '../../core/status-writer.js';
import { createFinalizerSweep, holdTarget, letGo } from './finalizer.js';
import type { CachedExecution, DrDeps } from '../types.js';

/** A target that has ended, a writer that looks again after a conflict, and a cache that knows no revert yet. */
function setup(completionTime?: string) {
  let version = 1;
  let live: CachedExecution = {
    metadata: {
      name: 'target',
      namespace: 'ns',
      uid: 't',
      resourceVersion: '1',
      finalizers: [FINALIZERS.execution],
    },
    spec: { planRef: 'p', operationType: 'Execute' },
    status: { phase: 'Succeeded', ...(completionTime !== undefined && { completionTime }) },
  };
  const write = (
    project: (object: CachedExecution) => MetadataFields | undefined,
    known: CachedExecution,
  ) => {
    const isStale = known.metadata.resourceVersion !== live.metadata.resourceVersion;
    const fields = project(isStale ? live : known);
    if (fields === undefined) return { kind: 'unchanged' as const, object: live };
    version += 1;
    live = { ...live, metadata: { ...live.metadata, ...fields, resourceVersion: String(version) } };
    return { kind: 'written' as const, object: live };
  };
  const writer = {
    metadata: (_: unknown, __: unknown, project: never, options: { known: CachedExecution }) =>
      Promise.resolve(write(project, options.known)),
  } as unknown as StatusWriter;
  const caches = { executions: { list: () => [] } } as unknown as DrDeps['caches'];
  return { deps: { writer, caches, log: pino({ level: 'silent' }) }, now: () => live };
}

const revert: CachedExecution = {
  metadata: { name: 'revert', namespace: 'ns', uid: 'r' },
  spec: { planRef: 'p', operationType: 'Revert', revertExecutionRef: 'target' },
};

describe('the target of a revert that begins as its own run ends [F11]', () => {
  it.each(['the revert', 'the end'] as const)(
    'keeps its finalizer when %s writes first [S5.39]',
    async (first) => {
      const { deps, now } = setup();
      const seen = now();
      const steps = [() => holdTarget(deps, revert, seen), () => letGo(deps, seen)];
      for (const step of first === 'the revert' ? steps : steps.reverse()) await step();
      expect(now().metadata.finalizers).toEqual([FINALIZERS.execution]);
      await letGo(deps, now(), { after: 'another revert' });
      expect(now().metadata.finalizers).toEqual([FINALIZERS.execution]);
      await letGo(deps, now(), { after: 'r' });
      expect(now().metadata.finalizers).toEqual([]);
      expect(now().metadata.annotations).toEqual({ [ANNOTATIONS.stamp]: 't' });
    },
  );
});

it('leaves a restored copy the stamp of its original when its revert is over [S5.60]', async () => {
  const { deps, now } = setup();
  now().metadata.annotations = { [ANNOTATIONS.stamp]: 'the original' };
  expect(await holdTarget(deps, revert, now())).toBeUndefined();
  await letGo(deps, now(), { after: 'r' });
  expect(now().metadata).toMatchObject({
    annotations: { [ANNOTATIONS.stamp]: 'the original' },
    finalizers: [],
  });
});

describe('the sweep for finalizers that were left', () => {
  const at = (seconds: number): string => new Date(Date.now() + seconds * 1000).toISOString();
  it.each([
    ['takes', 'off an execution that ended long ago', at(-3600)],
    ['leaves', 'on one that has just ended: whoever writes its end takes it off', at(0)],
    ['takes', 'off one whose end lies in the future, by the clock of another machine', at(300)],
    ['takes', 'off one that does not say when it ended', undefined],
  ])('%s it %s [F11] [S5.39]', async (verb, _, completionTime) => {
    const { deps, now } = setup(completionTime);
    const caches = { executions: { list: () => [now()] } } as unknown as DrDeps['caches'];
    const ending = new AbortController();
    let passes = 0;
    const sweep = createFinalizerSweep(
      { ...deps, caches },
      {
        intervalMs: 1,
        paceMs: 1,
        mayAct() {
          passes += 1;
          if (passes > 1) ending.abort();
          return passes === 1;
        },
      },
    );
    await sweep.run(ending.signal);
    expect(now().metadata.finalizers).toEqual(verb === 'takes' ? [] : [FINALIZERS.execution]);
  });
});
