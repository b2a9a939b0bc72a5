import { describe, expect, it } from 'vitest';
import { workflowKey } from '../../../api/plan/snapshot/snapshot.js';
import type { Snapshot } from '../../../api/plan/snapshot/snapshot.js';
import type { Action } from '../../../api/plan/types.js';
import { checkFits } from './fits.js';

const workflow = { name: 'w', namespace: 'ns' };

/** A plan of 20 stages that each use one workflow. */
function snapshotOf(
  actions: Action[],
  more: Partial<Snapshot['plan']['spec']> = {},
  params: Snapshot['params'] = [],
): Snapshot {
  return {
    plan: {
      name: 'p',
      namespace: 'ns',
      uid: 'plan',
      generation: 1,
      spec: {
        stages: Array.from({ length: 20 }, (_, index) => ({
          name: `${index}-${'s'.repeat(80)}`,
          workflows: [{ workflowRef: workflow }],
        })),
        ...more,
      },
    },
    workflows: { [workflowKey(workflow)]: { uid: 'wf', generation: 1, spec: { actions } } },
    params,
    operation: 'Execute',
    runMode: 'Planned',
  };
}

const manifest = (name: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\ndata: { key: "${'v'.repeat(300)}" }\n`;
const actionsOf = (count: number, more: (name: string) => Partial<Action> = () => ({})): Action[] =>
  Array.from({ length: count }, (_, index) => {
    const name = `${index}-`.padEnd(90, 'n');
    return {
      name,
      type: 'KubernetesResource',
      resource: { operation: 'Apply', manifest: manifest('c') },
      ...more(name),
    };
  });

describe('[F3] what is admitted can be run and reverted [S6.10]', () => {
  it('with 2,000 actions of names of 90 bytes', () => {
    expect(checkFits(snapshotOf(actionsOf(100)))).toBeUndefined();
  });

  it('with a custom rollback in each of them, too', () => {
    const rollback = {
      type: 'KubernetesResource',
      resource: { operation: 'Apply', manifest: manifest('c') },
    };
    expect(checkFits(snapshotOf(actionsOf(100, () => ({ rollback }))))).toBeUndefined();
  });

  it('with conditions over what has ended before', () => {
    const when = "!phases.exists(p, phases[p] == 'Failed')";
    expect(checkFits(snapshotOf(actionsOf(100, () => ({ when }))))).toBeUndefined();
  });

  it('with rollbacks that read an answer, counted as long as it may be', () => {
    const http = { url: 'https://gslb.example.com/move', method: 'POST' };
    const ask: Action = { name: 'ask', type: 'HTTP', http };
    const rollback: Action['rollback'] = {
      type: 'HTTP',
      http: { ...http, body: '{{ .outputs.ask.httpResponse.body }}' },
    };
    // Each of 99 readers of an answer of 4 KiB: 20 stages of that would take 8 MiB, told again by each.
    const readers = actionsOf(99, () => ({ type: 'HTTP', resource: undefined, http, rollback }));
    expect(checkFits(snapshotOf([ask, ...readers]))).toBeUndefined();
    const own = (count: number): Action[] =>
      actionsOf(count, (name) => ({
        type: 'HTTP',
        resource: undefined,
        http,
        rollback: { type: 'HTTP', http: { ...http, body: `{{ .outputs.${name}.httpResponse.body }}` } },
      }));
    expect(checkFits(snapshotOf(own(5)))).toBeUndefined();
    expect(checkFits(snapshotOf(own(100)))).toMatchObject({
      reason: 'PlanTooLarge',
      message: expect.stringMatching(/^a revert of the run would take/) as string,
    });
  });

  it('and what is too large is refused with the figure', () => {
    const nameOf = (index: number): string => `${index}-`.padEnd(250, 'n');
    const actions = actionsOf(100).map((action, index) => ({
      ...action,
      name: nameOf(index),
      dependsOn: [1, 2, 3, 4].filter((back) => back <= index).map((back) => nameOf(index - back)),
    }));
    const refusal = checkFits(snapshotOf(actions));
    expect(refusal).toMatchObject({ reason: 'PlanTooLarge' });
    expect(refusal?.message).toMatch(
      /^(a revert of )?the run would take \d{4} KiB to start, and Temporal takes 1984 KiB; split/,
    );
  });
});
