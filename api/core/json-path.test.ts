import { describe, expect, it } from 'vitest';
import { findByPath, readJsonPath } from './json-path.js';

const object = {
  metadata: { labels: { 'app.kubernetes.io/name': 'web' } },
  status: {
    phase: 'Running',
    replicas: 3,
    conditions: [
      { type: 'Ready', status: 'True', observedGeneration: 2 },
      { type: 'Available', status: 'False' },
    ],
  },
};

const find = (text: string): unknown => {
  const path = readJsonPath(text);
  return path.ok ? findByPath(path.steps, object) : path.problem;
};

describe('paths', () => {
  it.each([
    ['{.status.phase}', ['Running']],
    ['.status.phase', ['Running']],
    ['status.phase', ['Running']],
    ['$.status.replicas', [3]],
    ['{.status.conditions[0].type}', ['Ready']],
    ['{.status.conditions[-1].type}', ['Available']],
    ['{.status.conditions[*].status}', ['True', 'False']],
    ['{.status.conditions[?(@.type=="Ready")].status}', ['True']],
    ["{.status.conditions[?(@.type != 'Ready')].status}", ['False']],
    ['{.status.conditions[?(@.observedGeneration==2)].type}', ['Ready']],
    ['{.metadata.labels["app.kubernetes.io/name"]}', ['web']],
    ['{.status.nothing.here}', []],
    ['{.constructor}', []],
    ['{.status.phase[0]}', []],
  ])('%s finds %j', (text, expected) => {
    expect(find(text)).toEqual(expected);
  });

  it.each(['{..phase}', '{.status[?(@.a)]}', '', '{}', '{.a b}', '{range .items[*]}'])(
    '%s is refused, saying from where on',
    (text) => {
      expect(find(text)).toMatch(/cannot be read from|names no field/);
    },
  );
});
