import { expect, it } from 'vitest';
import type { ACTIONS } from '../../api/plan/actions/table.js';
import { ACTIVITY_TYPES, descriptorOf } from '../../api/plan/actions/table.js';
import { createEgressPolicy } from '../core/egress.js';
import type { Handler } from '../core/handler.js';
import { HANDLERS } from './index.js';
import type { Handlers } from './index.js';

type With<Descriptor> = typeof ACTIONS & { Untold: Descriptor };
const plain = {} as Handler;

it('has a handler for each type that can do what its descriptor says', () => {
  expect(Object.keys(HANDLERS).sort()).toEqual([...ACTIVITY_TYPES].sort());
  for (const type of ACTIVITY_TYPES) {
    const { preflight, operations, creates, perCluster } = descriptorOf(type);
    const handler: Handler = HANDLERS[type]({ egress: createEgressPolicy() });
    expect({
      type,
      writes: handler.writes !== undefined,
      look: handler.look !== undefined,
      capture: handler.capture !== undefined,
      leftovers: handler.leftovers !== undefined,
      targets: handler.targets !== undefined,
    }).toEqual({
      type,
      writes: preflight === 'writes',
      look: preflight === 'look',
      capture: operations !== undefined,
      leftovers: creates === true,
      targets: perCluster === true,
    });
  }
});

it('does not compile where a type has no handler, or one that cannot do what it says', () => {
  // @ts-expect-error no handler
  const none: Handlers<With<{ preflight: 'nothing' }>> = HANDLERS;
  // @ts-expect-error nothing tells a preflight what it would write
  const mute: Handlers<With<{ preflight: 'writes' }>> = { ...HANDLERS, Untold: () => plain };
  // @ts-expect-error nothing tells a preflight what there is to see
  const blind: Handlers<With<{ preflight: 'look' }>> = { ...HANDLERS, Untold: () => plain };
  const done: Handlers<With<{ preflight: 'nothing' }>> = { ...HANDLERS, Untold: () => plain };
  const step: Handlers<With<{ preflight: 'nothing'; traits: { isStep: true } }>> = HANDLERS;
  expect([none, mute, blind, done, step]).toHaveLength(5);
});
