/** Choices of a generator: made by fast-check, so that a case can be repeated and made smaller. */
import fc from 'fast-check';
import type { GeneratorValue } from 'fast-check';

export interface Dice {
  /** A whole number between both, included. */
  int(min: number, max: number): number;
  one<T>(values: readonly T[]): T;
  /** True in so many of a hundred cases. */
  chance(percent: number): boolean;
  /** As many values as drawn, each from its number. */
  list<T>(min: number, max: number, make: (index: number) => T): T[];
  /** The members, each left out in so many of a hundred cases. */
  some<T extends object>(absent: number, members: { [K in keyof T]: () => T[K] }): Partial<T>;
}

const integer = (min: number, max: number) => fc.integer({ min, max });

/** Dice over the generator of one case. */
export function diceOf(g: GeneratorValue): Dice {
  const int = (min: number, max: number): number => (min >= max ? min : g(integer, min, max));
  const dice: Dice = {
    int,
    one: (values) => {
      const value = values[int(0, values.length - 1)];
      return value as (typeof values)[number];
    },
    chance: (percent) => int(1, 100) <= percent,
    list: (min, max, make) => Array.from({ length: int(min, max) }, (_, index) => make(index)),
    some(absent, members) {
      const result: Record<string, unknown> = {};
      for (const [key, make] of Object.entries<() => unknown>(members)) {
        if (!dice.chance(absent)) result[key] = make();
      }
      return result as Partial<never>;
    },
  };
  return dice;
}
