import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ACTION_ACTIVITIES, WAIT_ACTIVITIES } from './activities.js';
import type { ActionDescriptor } from './descriptor.js';
import { ACTION_TYPES, ACTIVITY_TYPES, descriptorOf, findDescriptor } from './table.js';
import type { ACTIONS } from './table.js';
import { isStepType, PARTICULAR, traitsOf } from './traits.js';
import type { Particular } from './traits.js';

const toySchema = z.object({ words: z.string() });
type Toy = z.infer<typeof toySchema>;
const toy = {
  field: 'toy',
  schema: toySchema,
  title: 'A toy.',
  preflight: 'nothing',
  check: () => [],
} as const satisfies ActionDescriptor<Toy>;

describe('the table of action types', () => {
  it('has a field for each type', () => {
    const fields = ACTION_TYPES.map((type) => descriptorOf(type).field);
    expect(new Set(fields).size).toBe(ACTION_TYPES.length);
  });

  it('has what workflow code reads of it', () => {
    for (const type of ACTION_TYPES) expect(traitsOf(type)).toEqual(descriptorOf(type).traits ?? {});
    expect(traitsOf('Untold')).toEqual({});
    expect(ACTIVITY_TYPES).toEqual(ACTION_TYPES.filter((type) => !isStepType(type)));
  });

  it('does not know what is no type, whatever it is called', () => {
    for (const name of ['Untold', 'http', '', 'constructor', '__proto__', undefined]) {
      expect(findDescriptor(name)).toBeUndefined();
    }
  });

  it('has the names of activities that runs of earlier releases ask for', () => {
    const names = 'http job localization globalization helmChart subscription kubernetesResource wait notify';
    expect(ACTION_ACTIVITIES).toEqual(expect.arrayContaining(names.split(' ')));
    expect(ACTION_ACTIVITIES).toHaveLength(ACTIVITY_TYPES.length);
    expect(WAIT_ACTIVITIES).toContain('wait');
  });

  it('does not compile without what a type must say', () => {
    const { preflight: _, ...unsaid } = toy;
    // @ts-expect-error what a preflight does is not said
    const forgotten: ActionDescriptor<Toy> = unsaid;
    // @ts-expect-error workflow code is not told that it waits
    const untold: Particular<typeof ACTIONS & { Untold: { traits: { isWait: true } } }> = PARTICULAR;
    const told: Particular<typeof ACTIONS & { Untold: typeof toy }> = PARTICULAR;
    expect([forgotten, untold, told]).toHaveLength(3);
  });
});
