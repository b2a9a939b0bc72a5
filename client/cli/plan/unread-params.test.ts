import { describe, expect, it } from 'vitest';
import type { DRPlan, DRWorkflow } from '../../../api/plan/types.js';
import { unreadParams } from './unread-params.js';

const plan: DRPlan = {
  metadata: { name: 'p', namespace: 'n' },
  spec: {
    globalParams: [{ name: 'region', value: 'eu' }],
    stages: [{ name: 's', when: 'params.go == "yes"', workflows: [{ workflowRef: { name: 'w' } }] }],
  },
};
const workflow: DRWorkflow = {
  metadata: { name: 'w', namespace: 'n' },
  spec: {
    parameters: [{ name: 'target', required: true }],
    actions: [
      {
        name: 'a',
        type: 'HTTP',
        http: { url: 'https://x.example/{{ .params.site-b }}' },
        when: 'params["drain"] == "1"',
      },
    ],
  },
};
const warnings = (...names: string[]): string[] =>
  unreadParams(
    names.map((name) => ({ name, value: 'x' })),
    plan,
    [workflow],
  );

describe('parameters that nothing reads', () => {
  it('are not those that are declared or read [F24]', () => {
    expect(warnings('region', 'go', 'target', 'site-b', 'drain')).toEqual([]);
  });

  it('are named, with the one that may be meant, beginnings of others too [F24] [S2.5]', () => {
    expect(warnings('targe')).toEqual(['nothing reads parameter "targe"; did you mean "target"?']);
    expect(warnings('regoin')).toEqual(['nothing reads parameter "regoin"; did you mean "region"?']);
    expect(warnings('site')[0]).toMatch(/^nothing reads parameter "site"/);
    expect(warnings('zzzzzz')).toEqual(['nothing reads parameter "zzzzzz"']);
  });
});
