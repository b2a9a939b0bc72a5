/** What tests of attempts use: actions through their life, and matchers. */
import { expect } from 'vitest';

export { connect, openBench, startLife } from './life.js';
export type { Bench, Life } from './life.js';

/** Asymmetric matchers as the texts that they stand for. */
export const containing = (text: string): string => expect.stringContaining(text) as string;
export const matching = (pattern: RegExp): string => expect.stringMatching(pattern) as string;
