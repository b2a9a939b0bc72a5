import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arePacked, packPhases, unpackPhases } from './packed-phases.js';

const PHASES = ['Pending', 'Running', 'Succeeded', 'Failed', 'Skipped'];
const namesOf = (count: number): string[] => Array.from({ length: count }, (_, index) => `a-${index}`);

describe('[F3] packed phases', () => {
  it('are a few characters for a run that goes in order, and one for each action at worst', () => {
    const inOrder = [
      ...Array<string>(1200).fill('Succeeded'),
      'Running',
      ...Array<string>(799).fill('Pending'),
    ];
    expect(packPhases(inOrder)).toBe('S1200RP799');
    const mixed = Array.from({ length: 2000 }, (_, index) => PHASES[index % PHASES.length] ?? '');
    expect(packPhases(mixed)).toHaveLength(2000);
  });

  it('come back as they were, whatever they are', () => {
    const phase = fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(...PHASES) },
      fc.string(),
      fc.constant('valueOf'),
    );
    fc.assert(
      fc.property(fc.array(phase, { maxLength: 300 }), (phases) => {
        const names = namesOf(phases.length);
        const back = unpackPhases(packPhases(phases), names);
        expect(names.map((name) => back[name])).toEqual(phases);
      }),
    );
  });

  it.each(['', 'S', 'S3', 'S0', 'X2', 'S1x', 's2', 'S99999999999'])(
    'of two actions are not "%s"',
    (packed) => {
      expect(() => unpackPhases(packed, namesOf(2))).toThrow('do not fit 2 names');
    },
  );

  it('are used only where names would take long', () => {
    expect(arePacked(namesOf(20))).toBe(false);
    expect(arePacked(namesOf(100))).toBe(true);
    expect(arePacked(Array.from({ length: 12 }, (_, index) => `${'n'.repeat(90)}${index}`))).toBe(true);
  });
});
