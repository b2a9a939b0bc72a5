import { describe, expect, it } from 'vitest';
import type { StageStatus } from '../../../../api/plan/types.js';
import { compactTree, executionTree, noteOf } from './execution-tree.js';
import type { TreeNode } from '../../core/render/tree.js';

const NOW = Date.parse('2026-01-01T00:01:00Z');

const stage = (name: string, phase: string, actions = 3): StageStatus => ({
  name,
  phase,
  workflowExecutions: [
    {
      workflowRef: { name: `${name}-flow` },
      phase,
      actionStatuses: Array.from({ length: actions }, (_, index) => ({
        name: `${name}-${index}`,
        type: 'HTTP',
        phase,
      })),
    },
  ],
});

const labels = (nodes: readonly TreeNode[]): string[] =>
  nodes.flatMap((node) => [node.label, ...labels(node.children)]);

describe('the tree of a run', () => {
  it('has stages, workflows and actions', () => {
    expect(labels(executionTree([stage('drain', 'Running', 2)], NOW))).toEqual([
      'drain',
      'drain-flow',
      'drain-0',
      'drain-1',
    ]);
  });

  it('has the clusters of an action per cluster', () => {
    const one = stage('roll', 'Running', 1);
    const action = one.workflowExecutions?.[0]?.actionStatuses?.[0];
    Object.assign(action ?? {}, {
      clusterStatuses: [
        { cluster: 'ns/a', clusterID: '1', phase: 'Succeeded' },
        { cluster: 'ns/b', clusterID: '2', phase: 'Failed', reason: 'ClusterGone' },
      ],
    });
    const [node] = executionTree([one], NOW)[0]?.children[0]?.children ?? [];
    expect(node?.children.map(({ label, phase, note }) => [label, phase, note])).toEqual([
      ['ns/a', 'Succeeded', ''],
      ['ns/b', 'Failed', 'ClusterGone'],
    ]);
  });

  it('tells reasons of failures and skips, messages, and retries', () => {
    expect(noteOf({ phase: 'Failed', reason: 'Timeout', message: 'after 5m', retryCount: 1 })).toBe(
      'Timeout: after 5m (1 retry)',
    );
    expect(noteOf({ phase: 'Succeeded', reason: 'Odd', message: 'answered 200', retryCount: 0 })).toBe(
      'answered 200',
    );
    expect(noteOf({ phase: 'Skipped', reason: 'WhenFalse' })).toBe('WhenFalse');
  });
});

describe('the tree cut down to a screen', () => {
  const tree = executionTree(
    [
      stage('one', 'Succeeded'),
      stage('two', 'Succeeded'),
      stage('three', 'Running'),
      stage('four', 'Pending'),
    ],
    NOW,
  );

  it('is whole where it fits', () => {
    expect(labels(compactTree(tree, 20))).toHaveLength(20);
  });

  it('folds ended stages first, then waiting ones', () => {
    expect(labels(compactTree(tree, 12))).toEqual([
      'one',
      'two',
      'three',
      'three-flow',
      'three-0',
      'three-1',
      'three-2',
      'four',
      'four-flow',
      'four-0',
      'four-1',
      'four-2',
    ]);
    expect(labels(compactTree(tree, 8))).toEqual([
      'one',
      'two',
      'three',
      'three-flow',
      'three-0',
      'three-1',
      'three-2',
      'four',
    ]);
  });

  it('sums up stages around those that run, and never takes more lines than there are', () => {
    const many = executionTree(
      [
        ...Array.from({ length: 50 }, (_, index) => stage(`done-${index}`, 'Succeeded')),
        stage('now', 'Running'),
        ...Array.from({ length: 50 }, (_, index) => stage(`next-${index}`, 'Pending')),
      ],
      NOW,
    );
    expect(labels(compactTree(many, 10))).toEqual([
      '… 50 Succeeded',
      'now',
      'now-flow',
      'now-0',
      'now-1',
      'now-2',
      '… 50 Pending',
    ]);
    for (const lines of [1, 2, 3, 4, 5, 8]) {
      expect(labels(compactTree(many, lines)).length).toBeLessThanOrEqual(lines);
    }
  });
});
