import { describe, expect, it } from 'vitest';
import { notesOf, problemsOf, type TreeState } from './state.js';

const CHANGELOG = `# Changelog

## 1.2.3 (2026-01-31)

New things.

### Of the chart

More.

## 1.2.2 (2026-01-01)

Old things.
`;
const ready: TreeState = {
  version: '1.2.3',
  tag: 'v1.2.3',
  stated: { 'Chart.yaml': '1.2.3' },
  changelog: CHANGELOG,
  histories: ['1.2.2', '1.2.3'],
  uncommitted: [],
};

describe('a tree', () => {
  it('is ready when all agree', () => {
    expect(problemsOf(ready)).toEqual([]);
  });

  it.each<[string, Partial<TreeState>, string]>([
    ['a version of no known form', { version: '1.2' }, 'version 1.2 is none of semver.org'],
    ['build metadata', { version: '1.2.3+4' }, 'version 1.2.3+4 is none'],
    ['leading zeros', { version: '01.2.3' }, 'version 01.2.3 is none'],
    [
      'another version elsewhere',
      { stated: { 'Chart.yaml': '1.2.2' } },
      'Chart.yaml: 1.2.2, and package.json',
    ],
    ['none elsewhere', { stated: { 'Chart.yaml': undefined } }, 'Chart.yaml: nothing'],
    ['another tag', { tag: 'v1.2.4' }, 'it has to be v1.2.3'],
    [
      'a changelog of another release',
      { changelog: '## 1.2.2 (2026-01-01)\n' },
      'newest section is of 1.2.2',
    ],
    ['an empty changelog', { changelog: '' }, 'newest section is of no release'],
    ['no date', { changelog: '## 1.2.3 (not released)\n' }, 'has no date but "not released"'],
    ['no histories', { histories: ['1.2.2'] }, 'test/replay/histories/1.2.3: not recorded'],
    ['uncommitted files', { uncommitted: ['a.ts'] }, 'not committed: a.ts'],
  ])('with %s is not', (_, change, problem) => {
    expect(problemsOf({ ...ready, ...change }).join('\n')).toContain(problem);
  });

  it('of a candidate needs no date yet', () => {
    const version = '1.2.3-rc.1';
    const candidate = { ...ready, version, tag: `v${version}`, stated: { 'Chart.yaml': version } };
    expect(problemsOf({ ...candidate, changelog: '## 1.2.3 (not released)\n' })).toEqual([]);
  });
});

describe('notes', () => {
  it('are those of the release, with all of its headings', () => {
    expect(notesOf(CHANGELOG, '1.2.3')).toBe('New things.\n\n### Of the chart\n\nMore.');
    expect(notesOf(CHANGELOG, '1.2.2-rc.4')).toBe('Old things.');
    expect(notesOf(CHANGELOG, '9.9.9')).toBe('');
  });
});
